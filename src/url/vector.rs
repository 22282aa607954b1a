//! Vectors of sixteen bytes without unsafe code of our own.
//!
//! On x86-64 those of SSE2, which is all of it that `wide` would use there, and two crates fewer; on
//! other processors those of `wide`, with the same methods.

#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Bytes;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use wide::u8x16 as Bytes;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use safe_arch::{
        cmp_eq_mask_i8_m128i, m128i, max_u8_m128i, min_u8_m128i, move_mask_i8_m128i, set_splat_i8_m128i, sub_i8_m128i,
    };
    use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

    /// Sixteen bytes. Each operation is one instruction.
    #[derive(Clone, Copy, Default)]
    pub(in crate::url) struct Bytes(m128i);

    impl Bytes {
        #[inline(always)]
        pub(in crate::url) fn new(bytes: [u8; 16]) -> Bytes {
            Bytes(bytes.into())
        }

        /// Sixteen times this byte.
        #[inline(always)]
        pub(in crate::url) fn splat(byte: u8) -> Bytes {
            Bytes(set_splat_i8_m128i(byte.cast_signed()))
        }

        /// All bits of the bytes that are equal, none of the others.
        #[inline(always)]
        pub(in crate::url) fn simd_eq(self, other: Bytes) -> Bytes {
            Bytes(cmp_eq_mask_i8_m128i(self.0, other.0))
        }

        /// The lesser of each two bytes.
        #[inline(always)]
        pub(in crate::url) fn min(self, other: Bytes) -> Bytes {
            Bytes(min_u8_m128i(self.0, other.0))
        }

        /// The greater of each two bytes.
        #[inline(always)]
        pub(in crate::url) fn max(self, other: Bytes) -> Bytes {
            Bytes(max_u8_m128i(self.0, other.0))
        }

        /// The highest bit of each byte, that of the first byte lowest.
        #[inline(always)]
        pub(in crate::url) fn to_bitmask(self) -> u32 {
            move_mask_i8_m128i(self.0).cast_unsigned()
        }
    }

    impl BitAnd for Bytes {
        type Output = Bytes;

        #[inline(always)]
        fn bitand(self, other: Bytes) -> Bytes {
            Bytes(self.0 & other.0)
        }
    }

    impl BitOr for Bytes {
        type Output = Bytes;

        #[inline(always)]
        fn bitor(self, other: Bytes) -> Bytes {
            Bytes(self.0 | other.0)
        }
    }

    impl BitOrAssign for Bytes {
        #[inline(always)]
        fn bitor_assign(&mut self, other: Bytes) {
            *self = *self | other;
        }
    }

    impl Sub for Bytes {
        type Output = Bytes;

        /// Wraps at 256.
        #[inline(always)]
        fn sub(self, other: Bytes) -> Bytes {
            Bytes(sub_i8_m128i(self.0, other.0))
        }
    }
}
