//! Tests progress and cancellation of runs in threads.

use fairlane_sim::engine::batch::Batch;
use fairlane_sim::scenario::Scenario;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_run_that_stays_at_one_instant_shows_its_events_and_can_be_cancelled() {
    let scenario = json!({
        "run": {"warmup": "0 s", "measure": "10 s"},
        "queue": {"scheme": "droptail"},
        "groups": [{"start_until": "0 s", "sources": [{
            "kind": "web", "sessions": 1, "pages": 1_000_000, "objects": 1_000_000, "page_interval": "0 s",
            "object_interval": "0 s",
        }]}],
    });
    let batch = Batch::start(vec![(Arc::new(Scenario::read(&scenario).unwrap()), 0)], 1).unwrap();
    let far = loop {
        assert!(batch.next(Duration::from_millis(1)).is_none(), "10^12 events are not over");
        if let Some(&run) = batch.reached().first()
            && run.events > 100_000
        {
            break run;
        }
    };
    assert_eq!((far.job, far.end.as_secs_f64()), (0, 10.0));
    assert!(far.now.as_secs_f64() < 1.0, "{far:?}");
    batch.end();
    assert!(batch.reached().is_empty());
}
