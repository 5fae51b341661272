/*
 * command - lets the process that loaded the library give commands.
 *
 * A second copy of the state in the same process would not be excluded by the file's lock.
 */
#include "control.h"
#include "fake.h"

#include <string.h>

int fake_nvml_command(int argc, const char *const *argv, const char **why)
{
	/* Only here: another state file follows. */
	if (argc == 1 && strcmp(argv[0], "forget") == 0) {
		fake_close();
		return 0;
	}
	return fake_control(argc, argv, why);
}
