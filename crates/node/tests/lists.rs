//! Tests lists of subscribers that an operator imports: rows that form one subscriber, and invalid rows.
#![cfg(feature = "ebpf")]

use crate::common::{LOOPBACK, PASS, config, ipv4, replayed_later};
use crate::user_lists::Place;
use fairlane_node::subscribers::Subscriber;
use serde_json::json;

const SHAPED: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,\
                      Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment\n";

fn device(id: &str, name: &str, parent: &str, address: &str, plan: &str) -> String {
    format!("{id},{name},1,D,{parent},,{address},,{plan},\n")
}

#[test]
fn an_address_and_its_mapped_form_are_one() {
    let place = Place::new("");
    place.ok("add", &["a", "--prefix", "10.3.0.1"]);
    let taken = "error: user \"b\": 10.3.0.1/32 belongs to \"a\" already";
    assert_eq!(place.refused("add", &["b", "--prefix", "::ffff:10.3.0.1"]), taken);
    let list = place.file("list.csv", "name,prefix\nc,10.4.0.0/16\nb,::ffff:10.4.0.0/112\n");
    let taken = "error: list.csv: line 2: user \"c\": 10.4.0.0/16 belongs to \"b\" already, in line 3";
    assert_eq!(place.refused("import", &[&list]), taken);
    place.ok("remove", &["a"]);
    place.ok("add", &["b", "--prefix", "::ffff:10.3.0.1"]);
    assert_eq!(place.names(), ["b"]);
    let users = json!({"users": [{"prefix": "10.3.0.1"}, {"prefix": "::ffff:a03:1"}], "ports": [{"interface": "lo"}]});
    let twice = fairlane_node::config::NodeConfig::read(&users).unwrap_err().to_string();
    assert_eq!(twice, "users[1].prefix: \"10.3.0.1/32\" belongs to another user already");
}

#[test]
fn a_prefix_of_everybody_is_refused_with_its_line() {
    let place = Place::new("");
    let import = |prefix: &str| {
        place.refused("import", &[&place.file("list.csv", &format!("name,prefix\na,10.0.0.1\nb,{prefix}\n"))])
    };
    let all = "error: list.csv: line 3: user \"b\": prefix: \"0.0.0.0/0\" is everybody: [default_user] is whoever is \
               no subscriber";
    assert_eq!(import("0.0.0.0/0"), all);
    assert_eq!(import("::ffff:0:0/96"), all);
    let ipv6 = |prefix: &str| {
        format!(
            "error: list.csv: line 3: user \"b\": prefix: \"{prefix}\" has all IPv4 addresses in it, which a node \
             keeps as ::ffff:0:0/96; \"2000::/3\" has all unicast addresses of IPv6"
        )
    };
    assert_eq!(import("10.0.0.2;::/0"), ipv6("::/0"));
    assert_eq!(import("::/64"), ipv6("::/64"));
    place.ok("import", &[&place.file("list.csv", "name,prefix\nb,2000::/3\n")]);
    // A configuration also rejects ::/0, but allows 0.0.0.0/0.
    let node = |prefix: &str| {
        let tables = json!({"users": [{"prefix": prefix}], "ports": [{"interface": "lo"}]});
        fairlane_node::config::NodeConfig::read(&tables).map_err(|error| error.to_string())
    };
    assert!(node("::/0").unwrap_err().starts_with("users[0].prefix: \"::/0\" has all IPv4 addresses"));
    assert!(node("0.0.0.0/0").is_ok());
}

#[test]
fn a_circuit_has_one_name_one_parent_and_one_plan() {
    let place = Place::new("");
    let import =
        |rows: &[String]| place.refused("import", &[&place.file("list.csv", &format!("{SHAPED}{}", rows.concat()))]);
    let first = device("1", "a", "P", "10.0.0.1", "1,1,10,5");
    let between = device("2", "b", "P", "10.0.0.2", "1,1,10,5");
    for (other, column) in [
        (device("1", "b", "P", "10.0.0.3", "1,1,10,5"), "Circuit Name"),
        (device("1", "a", "Q", "10.0.0.3", "1,1,10,5"), "Parent Node"),
        (device("1", "a", "P", "10.0.0.3", "1,1,20,5"), "Download Max Mbps"),
        (device("1", "a", "P", "10.0.0.3", "1,1,10,6"), "Upload Max Mbps"),
        (device("1", "a", "P", "10.0.0.3", "2,1,10,5"), "Download Min Mbps"),
    ] {
        let problem = format!("{column}: differs from that of circuit \"1\" in line 2: it is one subscriber");
        assert_eq!(import(&[first.clone(), between.clone(), other]), format!("error: list.csv: line 4: {problem}"));
    }
    let merged = [device("2", "a #1", "P", "10.0.0.1", "1,1,10,5"), device("1 #2", "a", "P", "10.0.0.2", "1,1,10,5")];
    assert_eq!(import(&merged), "error: list.csv: line 3: Circuit ID: \"1 #2\" has a \"#\"");
    // A minimum rate of zero may also be written "-", and equal rates may be written differently (10 and 10.0).
    let rows = [device("1", "a", "P", "10.0.0.1", "0,-,10,5"), device("1", "a", "P", "10.0.0.2", "0,-,10.0,5.00")];
    place.ok("import", &[&place.file("list.csv", &format!("{SHAPED}{}", rows.concat()))]);
    assert_eq!(place.names(), ["a"]);
}

#[test]
fn a_name_that_begins_with_a_hash_is_no_comment_without_a_word() {
    let place = Place::new("");
    // The import gives a name to a circuit that has none.
    place.ok(
        "import",
        &[&place.file("shaped.csv", &format!("{SHAPED}{}", device("2", "", "", "10.0.0.2", "1,1,10,5")))],
    );
    assert_eq!(place.names(), ["#2"]);
    let list = place.file("list.csv", "name,prefix\na,10.0.0.1\n#2,10.0.0.2\n");
    assert_eq!(
        place.refused("import", &[&list, "--replace"]),
        "error: list.csv: line 3: is a comment or a row: quote a first cell that begins with \"#\", or put a space \
         behind the \"#\" of a comment"
    );
    let list = place.file("list.csv", "name,prefix\na,10.0.0.1\n# b,10.0.0.3\n\"#2\",10.0.0.2\n");
    place.ok("import", &[&list, "--replace"]);
    assert_eq!(place.names(), ["#2", "a"]);
}

#[test]
fn names_that_nobody_sees_are_refused() {
    let place = Place::new("");
    for (name, problem) in [
        (" ", "begins or ends with a space"),
        ("a ", "begins or ends with a space"),
        ("a\u{200b}", "has an invisible character, U+200B at place 2"),
        ("\u{feff}", "has an invisible character, U+FEFF at place 1"),
    ] {
        let told = place.refused("add", &[name, "--prefix", "10.0.0.1"]);
        assert!(told.contains(problem), "{told}");
        let change = json!({"put": {"name": name, "user": {"prefix": ["10.0.0.1"]}}}).to_string();
        assert!(place.refused("apply", &[&place.file("changes", &change)]).contains(problem), "{name:?}");
    }
    let list = place.file("list.csv", "name,prefix\na,10.0.0.1\na\u{200b},10.0.0.2\n");
    assert!(place.refused("import", &[&list]).starts_with("error: list.csv: line 3: user \"a\\u200b\": name: "));
}

#[test]
fn a_user_without_a_rate_or_class_has_those_of_the_default_user() {
    skip_unless_possible!();
    let default =
        json!({"reference_rate": "10 Mbit/s", "traffic_class": "EF", "meter_of": "address", "address_limit": 7});
    let tables = |user| config(&json!({}), &json!({"default_user": default, "users": [user]}));
    let given = tables(json!({"prefix": "10.0.0.1", "reference_rate": "10 Mbit/s", "traffic_class": "EF"}));
    let inherited = tables(json!({"prefix": "10.0.0.1"}));
    assert_eq!(inherited, given);
    let other = tables(json!({"prefix": "10.0.0.1", "reference_rate": "10 kbit/s", "traffic_class": "BE"}));
    let mut subscriber = other.clone();
    subscriber.users.clear();
    let kept = Subscriber { name: "10.0.0.1/32".into(), ..Subscriber::default() };
    let kept = Subscriber { user: json!({"prefix": "10.0.0.1"}).as_object().unwrap().clone(), ..kept };
    subscriber.add_users(kept.user(&subscriber.default_user).unwrap().into_iter()).unwrap();
    assert_eq!(subscriber, given);
    // The label of the first packet shows the class, and the activity relative to the reference rate.
    let [of_given, of_subscriber, of_other] = [given, subscriber, other].map(|config| {
        let programs = replayed_later(&config);
        let metered = programs.run("fairlane_ingress", &ipv4([10, 0, 0, 1], 0, 1000), LOOPBACK, 0, 1).unwrap();
        assert_eq!(metered.verdict, PASS);
        metered.mark
    });
    assert_eq!(of_subscriber, of_given);
    assert_ne!(of_other, of_given);
}
