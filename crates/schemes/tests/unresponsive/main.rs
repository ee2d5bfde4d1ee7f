//! Tests the rates that sampling and counting schemes give to unresponsive sources, against an independent model of the
//! setup in section 4 of the AFC paper (afc). The model's values support an interpretation of the paper; they are not
//! from the paper.

mod afc;
mod black;
mod care;
mod choke;
mod link;

use link::shares;
use serde_json::json;

#[test]
fn the_order_of_table_1() {
    // For one source, Table 1 of afc has these rates in kbit/s: RED 4375, CHOKe 1187, CARE 173, BLACK 74, AFC 50.
    // docs/schemes/black.md explains why BLACK differs here.
    let red = json!({"scheme": "red", "min_th": "50 packets", "max_th": "150 packets", "max_p": 0.1});
    let order = [
        red,
        json!({"scheme": "choke"}),
        json!({"scheme": "black"}),
        json!({"scheme": "care"}),
        json!({"scheme": "afc"}),
    ];
    let rates: Vec<f64> = order.iter().map(|queue| shares(queue, 1, 1).cbr_kbps).collect();
    assert!(rates.is_sorted_by(|more, less| *more > 1.05 * less), "{rates:?}");
}
