//! Tests a program with this crate's allocator, on every operating system: allocated memory keeps its content.

use fairlane_memory::{LargePages, large_pages};

#[global_allocator]
static MEMORY: LargePages = large_pages();

#[test]
fn lists_that_grow_past_a_large_page_and_shrink_keep_what_they_hold() {
    let mut lists: Vec<Vec<u32>> = (0..8).map(|_| Vec::new()).collect();
    // 3 MB each, 24 MB in total.
    for number in 0..750_000 {
        for list in &mut lists {
            list.push(number);
        }
    }
    for list in &mut lists {
        list.truncate(1000);
        list.shrink_to_fit();
        assert!(list.iter().copied().eq(0..1000));
    }
}
