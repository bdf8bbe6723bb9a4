/* SPDX-License-Identifier: Apache-2.0 */
/* What higher rooms set and base reads. */
#include "base/hooks.h"

#include "base/fds.h"

struct hooks hooks;
int files_apart;
