/*
 * Prints "STRUCT.MEMBER OFFSET", "STRUCT SIZE" and "CONSTANT VALUE" of all that devplane/driver.h
 * declares, as the Rust example does with --layout.
 */
#include <devplane/driver.h>
#include <stdio.h>

#define ABI_MINOR DP_DRIVER_ABI_MINOR

int main(void)
{
#define MEMBER(s, m, at)                                                \
	printf("%s.%s %zu\n", #s, #m, __builtin_offsetof(struct s, m)); \
	printf("%s %zu\n", #s, sizeof(struct s));
#define VALUE(name, value) printf("%s %d\n", #name, name);
#include "driver_members.h"
	return 0;
}
