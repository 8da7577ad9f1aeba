#![allow(clippy::unwrap_used)]
use super::{Types, first_name, kind, members_of, needed, without_flavor, words};

/// Type information under construction.
#[derive(Default)]
struct Made {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

impl Made {
    fn name(&mut self, name: &str) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
        }
        let at = self.strings.len() as u32;
        self.strings.extend(name.bytes().chain([0]));
        at
    }

    /// Adds a type and returns its id.
    fn add(&mut self, name: &str, kind: u32, members: usize, size: u32, rest: &[u32]) -> u32 {
        let name = if name.is_empty() { 0 } else { self.name(name) };
        let info = kind << 24 | members as u32;
        for word in [name, info, size].iter().chain(rest) {
            self.types.extend(word.to_ne_bytes());
        }
        self.count += 1;
        self.count
    }

    /// Adds a struct with members of these names and types.
    fn add_struct(&mut self, name: &str, members: &[(&str, u32)]) -> u32 {
        let mut rest = Vec::new();
        for (member, id) in members {
            rest.extend([self.name(member), *id, 0]);
        }
        self.add(name, kind::STRUCT, members.len(), 8, &rest)
    }

    fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = [super::MAGIC.to_ne_bytes(), [1, 0]].concat();
        for word in [24, 0, types, types, strings] {
            bytes.extend(word.to_ne_bytes());
        }
        [bytes, self.types.clone(), self.strings.clone()].concat()
    }
}

/// A task with an embedded entity, a pointer to a file, and much that has nothing to do with it.
fn kernel() -> Vec<u8> {
    let mut made = Made::default();
    let long = made.add("long", kind::INT, 0, 8, &[64]);
    let file = made.add_struct("file", &[("pos", long)]);
    let to_file = made.add("", kind::PTR, 0, file, &[]);
    let weight = made.add("weight_t", kind::TYPEDEF, 0, long, &[]);
    let entity = made.add_struct("entity", &[("weight", weight)]);
    let entities = made.add("", kind::ARRAY, 0, 0, &[entity, long, 2]);
    let call = made.add("", kind::FUNC_PROTO, 0, long, &[]);
    let hook = made.add("hook_t", kind::TYPEDEF, 0, call, &[]);
    made.add_struct(
        "task",
        &[("scx", entities), ("file", to_file), ("hook", hook)],
    );
    let first = made.name("ENQ_FIRST");
    made.add("enq_flags", kind::ENUM, 1, 4, &[first, 7]);
    let aux = made.name("aux");
    let kick = made.add("", kind::FUNC_PROTO, 1, long, &[aux, to_file]);
    made.add("kick", kind::FUNC, 0, kick, &[]);
    made.add("pick___v2", kind::FUNC, 0, kick, &[]);
    made.add_struct("unrelated", &[("entity", entity)]);
    made.bytes()
}

fn scheduler(names: &[&str]) -> Vec<u8> {
    let mut made = Made::default();
    for name in names {
        made.add_struct(name, &[]);
    }
    made.bytes()
}

/// Name, kind and size or type of every type, from the first on.
fn heads(bytes: &[u8]) -> Vec<(String, u32, u32)> {
    let types = Types::of(bytes).unwrap();
    let mut heads = Vec::new();
    types
        .walk(|at, name, info| {
            let name = first_name(types.text(name)?).to_vec();
            let [size] = words(types.types, at + 8)?;
            heads.push((String::from_utf8(name).unwrap(), info, size));
            Ok(())
        })
        .unwrap();
    heads
}

fn names(bytes: &[u8]) -> Vec<String> {
    heads(bytes).into_iter().map(|head| head.0).collect()
}

#[test]
fn what_a_named_type_embeds_comes_with_it_and_what_it_points_to_does_not() {
    let found = names(&needed(&kernel(), &scheduler(&["task"]), &[]).unwrap());
    // The array, the pointer and what the hook is called with have no names.
    assert_eq!(
        found,
        ["task", "", "", "hook_t", "entity", "long", "", "weight_t"]
    );
}

#[test]
fn members_keep_their_names_and_types() {
    let bytes = needed(&kernel(), &scheduler(&["entity"]), &[]).unwrap();
    let heads = heads(&bytes);
    let types = Types::of(&bytes).unwrap();
    let (_, info, size) = heads[0];
    assert_eq!((members_of(info), size), (1, 8));
    let [name, id] = words(types.types, 12).unwrap();
    assert_eq!(first_name(types.text(name).unwrap()), b"weight");
    let (name, _, target) = &heads[id as usize - 1];
    assert_eq!(name, "weight_t");
    assert_eq!(heads[*target as usize - 1].0, "long");
}

#[test]
fn functions_come_by_their_whole_name_with_the_names_of_their_arguments() {
    let bytes = needed(&kernel(), &scheduler(&[]), &["kick", "pick"]).unwrap();
    assert_eq!(names(&bytes), ["kick", ""]);
    let types = Types::of(&bytes).unwrap();
    let [name, id] = words(types.types, 24).unwrap();
    assert_eq!(
        (first_name(types.text(name).unwrap()), id),
        (&b"aux"[..], 0)
    );
}

#[test]
fn variants_of_a_type_are_asked_for_by_its_plain_name() {
    assert_eq!(without_flavor(b"task___old"), b"task");
    assert_eq!(without_flavor(b"a___b___c"), b"a___b");
    assert_eq!(without_flavor(b"____x"), b"____x");
    assert_eq!(without_flavor(b"x____"), b"x____");
    let asked = scheduler(&["entity___6_12", "enq_flags"]);
    let found = names(&needed(&kernel(), &asked, &[]).unwrap());
    assert_eq!(found, ["entity", "enq_flags", "weight_t", "long"]);
}

#[test]
fn short_names_are_found_too() {
    let mut made = Made::default();
    for name in [
        "s8",
        "u",
        "u8___old",
        "abc___old",
        "task___old",
        "u8x",
        "u64",
    ] {
        made.add_struct(name, &[]);
    }
    // The last name is so near to the end of all names that no eight bytes follow.
    for (asked, found) in [
        ("u", vec!["u"]),
        ("u8", vec!["u8___old"]),
        ("abc", vec!["abc___old"]),
        ("task", vec!["task___old"]),
        ("u64", vec!["u64"]),
    ] {
        let bytes = needed(&made.bytes(), &scheduler(&[asked]), &[]).unwrap();
        assert_eq!(names(&bytes), found, "{asked}");
    }
}

#[test]
fn types_of_any_length_are_found_wherever_they_are() {
    let mut made = Made::default();
    let made_names: Vec<String> = (0..100).map(|i| format!("type{i}")).collect();
    for (i, name) in made_names.iter().enumerate() {
        match i % 4 {
            0 => made.add(name, kind::INT, 0, 8, &[64]),
            1 => made.add(name, kind::FLOAT, 0, 8, &[]),
            // Its member is the type before.
            2 => made.add_struct(name, &[("member", i as u32)]),
            _ => made.add(name, kind::TYPEDEF, 0, i as u32 - 1, &[]),
        };
    }
    let kernel = made.bytes();
    for (i, name) in made_names.iter().enumerate() {
        let bytes = needed(&kernel, &scheduler(&[name]), &[]).unwrap();
        let expected = match i % 4 {
            0 | 1 => &[i][..],
            2 => &[i, i - 1],
            _ => &[i, i - 2],
        };
        let expected: Vec<&str> = expected.iter().map(|&i| &made_names[i][..]).collect();
        assert_eq!(names(&bytes), expected);
    }
}

#[test]
fn every_kind_of_type_is_gone_over() {
    let mut made = Made::default();
    for (kind, members, words) in [
        (kind::INT, 0, 1),
        (kind::PTR, 0, 0),
        (kind::ARRAY, 0, 3),
        (kind::STRUCT, 2, 6),
        (kind::UNION, 2, 6),
        (kind::ENUM, 2, 4),
        (kind::FWD, 0, 0),
        (kind::TYPEDEF, 0, 0),
        (kind::VOLATILE, 0, 0),
        (kind::CONST, 0, 0),
        (kind::RESTRICT, 0, 0),
        (kind::FUNC, 1, 0),
        (kind::FUNC_PROTO, 2, 4),
        (kind::VAR, 0, 1),
        (kind::DATASEC, 2, 6),
        (kind::FLOAT, 0, 0),
        (kind::DECL_TAG, 0, 1),
        (kind::TYPE_TAG, 0, 0),
        (kind::ENUM64, 2, 6),
    ] {
        made.add("", kind, members, 0, &vec![0; words]);
    }
    made.add_struct("last", &[]);
    let bytes = needed(&made.bytes(), &scheduler(&["last"]), &[]).unwrap();
    assert_eq!(names(&bytes), ["last"]);
}

#[test]
fn nothing_is_found_of_what_the_kernel_lacks() {
    let bytes = needed(&kernel(), &scheduler(&["absent"]), &[]).unwrap();
    assert_eq!(names(&bytes), Vec::<String>::new());
}

#[test]
fn what_is_cut_short_or_unknown_is_refused() {
    let (kernel, scheduler) = (kernel(), scheduler(&["task"]));
    for end in 0..kernel.len() {
        assert!(needed(&kernel[..end], &scheduler, &[]).is_err(), "{end}");
    }
    for end in 0..scheduler.len() {
        assert!(needed(&kernel, &scheduler[..end], &[]).is_err(), "{end}");
    }
    let mut made = Made::default();
    made.add("new", 20, 0, 0, &[]);
    assert!(needed(&made.bytes(), &scheduler, &[]).is_err());
    for lost in [2, 9, 17, u32::MAX] {
        let mut made = Made::default();
        made.add_struct("task", &[("lost", lost)]);
        let error = needed(&made.bytes(), &scheduler, &[]).unwrap_err();
        assert_eq!(error.to_string(), "no such type", "{lost}");
    }
    let mut made = Made::default();
    made.add("unrelated", kind::STRUCT, 3, 8, &[]);
    assert!(needed(&made.bytes(), &scheduler, &[]).is_err());
}
