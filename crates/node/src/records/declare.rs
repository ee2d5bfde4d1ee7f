//! Records shared by C and Rust. One declaration generates both definitions.

use std::fmt::Write as _;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Types whose bytes are the same in a map and in memory.
pub trait Record: FromBytes + IntoBytes + Immutable {}

impl<T: FromBytes + IntoBytes + Immutable> Record for T {}

/// A type that has the same layout in C.
pub trait CType {
    /// C declaration of a field of this type.
    fn declare(name: &str) -> String;
}

macro_rules! scalars {
    ($($Rust:ty = $c:literal),+) => {
        $(impl CType for $Rust {
            fn declare(name: &str) -> String {
                format!(concat!($c, " {}"), name)
            }
        })+
    };
}

scalars! { u8 = "__u8", u32 = "__u32", i32 = "__s32", u64 = "__u64", i64 = "__s64" }

impl<T: CType, const N: usize> CType for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

/// A structure in C.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Fields, in order.
    pub fields: Vec<Field>,
}

/// A field of a structure.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// C declaration.
    pub declaration: String,
}

impl Layout {
    /// Returns the C definition, with assertions that the C compiler uses the same layout as Rust.
    #[must_use]
    pub fn definition(&self) -> String {
        let Self { name, doc, size, align, fields } = self;
        let mut text = format!("/*{doc} */\nstruct {name} {{\n");
        for field in fields {
            writeln!(text, "\t{}; /*{} */", field.declaration, field.doc).expect("a String takes all");
        }
        writeln!(text, "}} __attribute__((aligned({align})));").expect("a String takes all");
        writeln!(text, "_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");").expect("a String takes all");
        for Field { name: field, offset, .. } in fields {
            let place = format!("__builtin_offsetof(struct {name}, {field})");
            writeln!(text, "_Static_assert({place} == {offset}, \"{name}.{field}\");").expect("a String takes all");
        }
        text
    }
}

/// Declares records: `struct Name = name_in_c { field: Type, .. }`, each with a doc line, and a function that returns
/// their layouts.
macro_rules! records {
    ($(#[$layouts_meta:meta])* fn $layouts:ident; $(
        #[doc = $doc:literal] $(#[$meta:meta])*
        struct $Name:ident = $c:ident { $( #[doc = $field_doc:literal] $field:ident: $Type:ty, )+ }
    )+) => {
        $(
            #[doc = $doc]
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            #[derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable)]
            #[repr(C)]
            pub struct $Name { $( #[doc = $field_doc] pub $field: $Type, )+ }

            impl $crate::records::declare::CType for $Name {
                fn declare(name: &str) -> String {
                    format!(concat!("struct ", stringify!($c), " {}"), name)
                }
            }

            impl $Name {
                /// The layout in C.
                #[must_use]
                pub fn layout() -> $crate::records::declare::Layout {
                    use $crate::records::declare::{CType, Field, Layout};
                    let fields = vec![$( Field {
                        name: stringify!($field),
                        doc: $field_doc,
                        offset: std::mem::offset_of!(Self, $field),
                        declaration: <$Type as CType>::declare(stringify!($field)),
                    }, )+];
                    let (size, align) = (size_of::<Self>(), align_of::<Self>());
                    Layout { name: stringify!($c), doc: $doc, size, align, fields }
                }
            }
        )+

        $(#[$layouts_meta])*
        #[must_use]
        pub fn $layouts() -> Vec<$crate::records::declare::Layout> {
            vec![$( $Name::layout(), )+]
        }
    };
}

/// C enumerations with the numbers of Rust variants: `NAME = Type::Variant, ..;`.
macro_rules! enumerations {
    ($($($NAME:ident = $variant:expr),+;)+) => {
        [$([$(format!("{} = {}", stringify!($NAME), $variant as u32)),+].join(", ")),+]
            .map(|values| format!("enum {{ {values} }};\n"))
            .concat()
    };
}

pub(super) use {enumerations, records};
