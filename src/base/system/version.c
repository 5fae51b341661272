/*
 * The one-line form; the values themselves come from version_values.c, which
 * the build generates.
 */
#include "base/system/version.h"

void version_print(const struct version *v, FILE *out)
{
	(void)fprintf(out, "devplane %s (commit %s, %s, %s)\n", v->version, v->commit, v->compiler,
		      v->platform);
}
