// SPDX-License-Identifier: Apache-2.0
//! What is particular to Unix, as in [`std::os`].

pub mod unix {
    //! As [`std::os::unix`].

    pub mod net;
    pub mod process;
}
