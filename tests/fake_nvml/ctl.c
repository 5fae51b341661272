/*
 * ctl - fake_nvml_ctl COMMAND [ARG ..]: changes the GPUs of the fake NVML library (control.h).
 */
#include "control.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	const char *why = NULL;

	if (fake_control(argc - 1, (const char *const *)(argv + 1), &why) == 0)
		return 0;
	(void)fprintf(stderr, "fake_nvml_ctl: %s\n", why);
	return 1;
}
