//! The part of the kernel's type information that is asked for here.
//!
//! libbpf goes through every type of the kernel, more than a hundred thousand, once for each type that the
//! scheduler names, and then through those of all modules for a type that the kernel does not have. One look at
//! each for all of the names is enough, with what the types of these names embed.

mod names;

use anyhow::{Context, Result, bail, ensure};
use names::{Names, without_flavor};
use std::collections::BTreeMap;

const HEADER_LEN: usize = 24;
const MAGIC: u16 = 0xeb9f;
const CUT_SHORT: &str = "type information ends early";

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
    let (mut types, mut functions) = (Names::of_types(), Names::of_functions());
    let scheduler = Types::of(scheduler).context("in the scheduler")?;
    scheduler.walk(|_, name, info| {
        if is_relocatable(info) {
            types.add(without_flavor(first_name(scheduler.text(name)?)));
        }
        Ok(())
    })?;
    for name in besides {
        types.add(name.as_bytes());
        functions.add(name.as_bytes());
    }
    let kernel = Types::of(kernel).context("in the kernel")?;
    let mut places = Places::default();
    let mut wanted = Vec::new();
    kernel.walk(|at, name, info| {
        let id = places.add(at);
        let is_wanted = if kind_of(info) == kind::FUNC {
            functions.has(kernel.text(name)?)
        } else {
            is_relocatable(info) && types.has(kernel.text(name)?)
        };
        if is_wanted {
            wanted.push(id);
        }
        Ok(())
    })?;
    let mut copy = Copy::of(&kernel, &places);
    for id in wanted {
        copy.id_of(id);
    }
    copy.finish()
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
        .context(CUT_SHORT)?;
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

/// The number of words after the first three, by the kind of a type: once, and for each member.
const SHAPES: [Option<(u8, u8)>; 32] = {
    let mut shapes = [None; 32];
    let mut kind = 0;
    while kind < shapes.len() {
        shapes[kind] = match kind as u32 {
            kind::INT | kind::VAR | kind::DECL_TAG => Some((1, 0)),
            kind::ARRAY => Some((3, 0)),
            kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => Some((0, 3)),
            kind::ENUM | kind::FUNC_PROTO => Some((0, 2)),
            kind::PTR
            | kind::FWD
            | kind::TYPEDEF
            | kind::VOLATILE
            | kind::CONST
            | kind::RESTRICT
            | kind::FUNC
            | kind::FLOAT
            | kind::TYPE_TAG => Some((0, 0)),
            _ => None,
        };
        kind += 1;
    }
    shapes
};

/// The number of words after the first three, and how many of them are one member.
fn shape_of(info: u32) -> Result<(usize, usize)> {
    let Some((once, each)) = SHAPES[kind_of(info) as usize] else {
        bail!("types of kind {} are not known", kind_of(info));
    };
    let (once, each) = (usize::from(once), usize::from(each));
    Ok((once + each * members_of(info), once + each))
}

/// The number of bytes of a type.
fn len_of(info: u32) -> Result<usize> {
    Ok(12 + 4 * shape_of(info)?.0)
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
            section.context(CUT_SHORT)
        };
        Ok(Types {
            types: section(types_at, types_len)?,
            strings: section(strings_at, strings_len)?,
        })
    }

    /// Calls `each` with the place, the name and the kind of every type, in the order of their ids.
    fn walk(&self, mut each: impl FnMut(usize, u32, u32) -> Result<()>) -> Result<()> {
        let mut rest = self.types;
        while !rest.is_empty() {
            let [name, info] = words(rest, 0)?;
            each(self.types.len() - rest.len(), name, info)?;
            rest = rest.get(len_of(info)?..).context(CUT_SHORT)?;
        }
        Ok(())
    }

    /// The name at this place, and what follows it.
    fn text(&self, offset: u32) -> Result<&'a [u8]> {
        let text = self.strings.get(offset as usize..);
        text.context("a name is not there")
    }
}

/// Where types are, by their ids from 1 on. Few of very many are ever looked for, and memory costs most when it is
/// new, so this keeps only the place of one in sixteen.
#[derive(Default)]
struct Places {
    kept: Vec<u32>,
    count: u32,
}

impl Places {
    const APART: u32 = 16;

    /// Adds the place of the next type, and returns its id.
    fn add(&mut self, at: usize) -> u32 {
        if self.count.is_multiple_of(Self::APART) {
            self.kept.push(at as u32);
        }
        self.count += 1;
        self.count
    }

    /// The place of a type in `types`, all of which were added.
    fn find(&self, id: u32, types: &Types<'_>) -> Result<usize> {
        let index = id.saturating_sub(1);
        let kept = self.kept.get((index / Self::APART) as usize);
        let kept = kept.filter(|_| id <= self.count);
        let mut at = *kept.context("no such type")? as usize;
        for _ in 0..index % Self::APART {
            let [info] = words(types.types, at + 4)?;
            at += len_of(info)?;
        }
        Ok(at)
    }
}

/// Some of the types, under ids of their own.
struct Copy<'a> {
    from: &'a Types<'a>,
    places: &'a Places,
    /// By the id there: the id here, of those that are wanted so far.
    ids: BTreeMap<u32, u32>,
    /// By the id here, less one: the id there.
    wanted: Vec<u32>,
    strings: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn of(from: &'a Types<'a>, places: &'a Places) -> Copy<'a> {
        Copy {
            from,
            places,
            ids: BTreeMap::new(),
            wanted: Vec::new(),
            strings: vec![0],
        }
    }

    /// The id here of a type that is wanted; `void` is 0 everywhere.
    fn id_of(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        *self.ids.entry(id).or_insert_with(|| {
            self.wanted.push(id);
            self.wanted.len() as u32
        })
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
            self.copy(self.places.find(id, self.from)?, &mut types)?;
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
            | kind::FUNC => self.id_of(size),
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
                (kind::STRUCT | kind::UNION, 1) | (kind::ARRAY, 0 | 1) => self.id_of(value),
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
