/* version - the version of devplane, from the build of this program. */
#ifndef BASE_SYSTEM_VERSION_H
#define BASE_SYSTEM_VERSION_H

#include <stdio.h>

struct version {
	const char *version; /* "0.1.0" */
	const char *commit; /* from `git describe`; "unknown" if built outside of git */
	const char *compiler; /* "gcc 12.2.0" */
	const char *platform; /* as Go names them: "linux/arm64" */
};

const struct version *version_get(void);

/* One line: "devplane 0.1.0 (commit 1a2b3c4, gcc 12.2.0, linux/arm64)". */
void version_print(const struct version *v, FILE *out);

#endif
