/* SPDX-License-Identifier: Apache-2.0 */
int *late_counter(void);
char *late_zeros(void);
int late_constructor_saw(void);
