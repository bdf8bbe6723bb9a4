/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hooks.h"

struct hooks hooks;
