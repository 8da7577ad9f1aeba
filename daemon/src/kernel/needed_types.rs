//! The part of the kernel's type information that is asked for here.
//!
//! libbpf goes through every type of the kernel, more than a hundred thousand, once for each type that the
//! scheduler names, and then through those of all modules for a type that the kernel does not have. One look at
//! each for all of the names is enough, with what the types of these names embed.

use anyhow::{Context, Result, bail, ensure};
use std::collections::HashSet;

const HEADER_LEN: usize = 24;
const MAGIC: u16 = 0xeb9f;

/// `enum BTF_KIND_*` in `include/uapi/linux/btf.h`.
mod kind {
    pub const INT: u32 = 1;
    pub const PTR: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FWD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNC: u32 = 12;
    pub const FUNC_PROTO: u32 = 13;
    pub const VAR: u32 = 14;
    pub const DATASEC: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const DECL_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

/// What of the type information `kernel` the relocations of a scheduler with the type information `scheduler` may
/// look at, and the types and functions that are named besides. What is behind a pointer is left out. Both are
/// whole, in the byte order of this machine.
///
/// # Errors
/// When either is cut short or has a kind of type that is not known here.
pub fn needed<'a>(kernel: &[u8], scheduler: &'a [u8], besides: &[&'a str]) -> Result<Vec<u8>> {
    let mut names = Names::new();
    let scheduler = Types::of(scheduler).context("in the scheduler")?;
    scheduler.walk(|_, name, info| {
        if is_relocatable(info) {
            names.add(without_flavor(first_name(scheduler.text(name)?)));
        }
        Ok(())
    })?;
    for name in besides {
        names.add(name.as_bytes());
    }
    let kernel = Types::of(kernel).context("in the kernel")?;
    let mut places = Vec::with_capacity(kernel.types.len() / 24);
    let mut wanted = Vec::new();
    places.push(0);
    kernel.walk(|at, name, info| {
        if (is_relocatable(info) || kind_of(info) == kind::FUNC)
            && names.has(kernel.text(name)?, kind_of(info) == kind::FUNC)
        {
            wanted.push(places.len() as u32);
        }
        places.push(at as u32);
        Ok(())
    })?;
    let mut copy = Copy::of(&kernel, &places);
    for id in wanted {
        copy.id_of(id)?;
    }
    copy.finish()
}

/// Names that are asked for among very many others.
struct Names<'a> {
    names: HashSet<&'a [u8]>,
    /// By the first two bytes: whether any name begins so. Most names of a kernel end here.
    beginnings: Vec<bool>,
}

impl<'a> Names<'a> {
    fn new() -> Names<'a> {
        Names {
            names: HashSet::new(),
            beginnings: vec![false; 1 << 16],
        }
    }

    /// Adds a name that is not empty.
    fn add(&mut self, name: &'a [u8]) {
        if let Some(&first) = name.first() {
            let second = name.get(1).copied().unwrap_or(0);
            self.beginnings[usize::from(u16::from_ne_bytes([first, second]))] = true;
            self.names.insert(name);
        }
    }

    /// Whether the name that `text` begins with is here; that of a function is taken as a whole.
    fn has(&self, text: &[u8], is_function: bool) -> bool {
        let &[first, second, ..] = text else {
            return false;
        };
        if !self.beginnings[usize::from(u16::from_ne_bytes([first, second]))] {
            return false;
        }
        let name = first_name(text);
        let name = if is_function {
            name
        } else {
            without_flavor(name)
        };
        self.names.contains(name)
    }
}

/// The name up to a last `___`, after which relocations put what tells variants of a type apart.
fn without_flavor(name: &[u8]) -> &[u8] {
    let is_flavor = |w: &[u8]| w[0] != b'_' && w[1..4].iter().all(|&b| b == b'_') && w[4] != b'_';
    match name.windows(5).rposition(is_flavor) {
        Some(at) => &name[..=at],
        None => name,
    }
}

/// What is before the first zero.
fn first_name(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == 0);
    &text[..end.unwrap_or(text.len())]
}

fn words<const N: usize>(bytes: &[u8], at: usize) -> Result<[u32; N]> {
    let bytes = bytes
        .get(at..)
        .and_then(|rest| rest.get(..4 * N))
        .context("type information ends early")?;
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    Ok(words)
}

fn kind_of(info: u32) -> u32 {
    info >> 24 & 0x1f
}

fn members_of(info: u32) -> usize {
    (info & 0xffff) as usize
}

/// Whether relocations look for types of this kind.
fn is_relocatable(info: u32) -> bool {
    matches!(
        kind_of(info),
        kind::INT
            | kind::STRUCT
            | kind::UNION
            | kind::ENUM
            | kind::ENUM64
            | kind::TYPEDEF
            | kind::FLOAT
    )
}

/// The number of words after the first three, and how many of them are one member.
fn shape_of(info: u32) -> Result<(usize, usize)> {
    let members = members_of(info);
    Ok(match kind_of(info) {
        kind::INT | kind::VAR | kind::DECL_TAG => (1, 1),
        kind::ARRAY => (3, 3),
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => (3 * members, 3),
        kind::ENUM | kind::FUNC_PROTO => (2 * members, 2),
        kind::PTR
        | kind::FWD
        | kind::TYPEDEF
        | kind::VOLATILE
        | kind::CONST
        | kind::RESTRICT
        | kind::FUNC
        | kind::FLOAT
        | kind::TYPE_TAG => (0, 1),
        other => bail!("types of kind {other} are not known"),
    })
}

/// The two parts of type information.
struct Types<'a> {
    types: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Types<'a> {
    fn of(bytes: &'a [u8]) -> Result<Types<'a>> {
        ensure!(
            bytes.starts_with(&MAGIC.to_ne_bytes()),
            "this is no type information"
        );
        let [header_len, types_at, types_len, strings_at, strings_len] = words(bytes, 4)?;
        let section = |at: u32, len: u32| -> Result<&'a [u8]> {
            let start = header_len as usize + at as usize;
            let section = bytes.get(start..start + len as usize);
            section.context("type information ends early")
        };
        Ok(Types {
            types: section(types_at, types_len)?,
            strings: section(strings_at, strings_len)?,
        })
    }

    /// Calls `each` with the place, the name and the kind of every type, in the order of their ids.
    fn walk(&self, mut each: impl FnMut(usize, u32, u32) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while at < self.types.len() {
            let [name, info, _] = words(self.types, at)?;
            each(at, name, info)?;
            at += 12 + 4 * shape_of(info)?.0;
        }
        ensure!(at == self.types.len(), "type information ends early");
        Ok(())
    }

    /// The name at this place, and what follows it.
    fn text(&self, offset: u32) -> Result<&'a [u8]> {
        let text = self.strings.get(offset as usize..);
        text.context("a name is not there")
    }
}

/// Some of the types, under ids of their own.
struct Copy<'a> {
    from: &'a Types<'a>,
    /// By the id there: its place. The first is `void`, which has none.
    places: &'a [u32],
    /// By the id there: the id here, 0 if it is not wanted so far.
    ids: Vec<u32>,
    /// By the id here, less one: the id there.
    wanted: Vec<u32>,
    strings: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn of(from: &'a Types<'a>, places: &'a [u32]) -> Copy<'a> {
        Copy {
            from,
            places,
            ids: vec![0; places.len()],
            wanted: Vec::new(),
            strings: vec![0],
        }
    }

    /// The id here of a type that is wanted.
    fn id_of(&mut self, id: u32) -> Result<u32> {
        let known = self.ids.get_mut(id as usize).context("no such type")?;
        if id != 0 && *known == 0 {
            self.wanted.push(id);
            *known = self.wanted.len() as u32;
        }
        Ok(*known)
    }

    fn name(&mut self, offset: u32) -> Result<u32> {
        if offset == 0 {
            return Ok(0);
        }
        let here = self.strings.len() as u32;
        self.strings.extend(first_name(self.from.text(offset)?));
        self.strings.push(0);
        Ok(here)
    }

    /// The whole of it, with what the wanted types embed.
    fn finish(mut self) -> Result<Vec<u8>> {
        let mut types = Vec::new();
        let mut next = 0;
        while let Some(&id) = self.wanted.get(next) {
            self.copy(self.places[id as usize] as usize, &mut types)?;
            next += 1;
        }
        let mut bytes = Vec::with_capacity(HEADER_LEN + types.len() + self.strings.len());
        bytes.extend(MAGIC.to_ne_bytes());
        // The version, and no flags.
        bytes.extend([1, 0]);
        let (types_len, strings_len) = (types.len() as u32, self.strings.len() as u32);
        for word in [HEADER_LEN as u32, 0, types_len, types_len, strings_len] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(self.strings);
        Ok(bytes)
    }

    fn copy(&mut self, at: usize, types: &mut Vec<u8>) -> Result<()> {
        let [name, info, size] = words(self.from.types, at)?;
        let kind = kind_of(info);
        let size_or_type = match kind {
            kind::PTR | kind::FUNC_PROTO => 0,
            kind::TYPEDEF
            | kind::VOLATILE
            | kind::CONST
            | kind::RESTRICT
            | kind::TYPE_TAG
            | kind::FUNC => self.id_of(size)?,
            _ => size,
        };
        for word in [self.name(name)?, info, size_or_type] {
            types.extend(word.to_ne_bytes());
        }
        let (count, stride) = shape_of(info)?;
        for i in 0..count {
            let [value] = words(self.from.types, at + 12 + 4 * i)?;
            let value = match (kind, i % stride) {
                (kind::STRUCT | kind::UNION | kind::ENUM | kind::ENUM64 | kind::FUNC_PROTO, 0) => {
                    self.name(value)?
                }
                (kind::STRUCT | kind::UNION, 1) | (kind::ARRAY, 0 | 1) => self.id_of(value)?,
                (kind::FUNC_PROTO, _) => 0,
                _ => value,
            };
            types.extend(value.to_ne_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
