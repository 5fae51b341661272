/*
 * security - PodSecurity's configuration and metrics, for one server.
 *
 * Threads: the state's loop; other loops may read the configuration.
 */
#ifndef SERVER_SECURITY_SECURITY_H
#define SERVER_SECURITY_SECURITY_H

#include "server/security/config.h"

struct metrics;
struct metrics_family;

struct security {
	struct arena arena; /* of the configuration */
	struct security_config config;
	struct metrics_family *evaluations, *exemptions, *errors; /* upstream's */
};

/* `path`: upstream's configuration of admission; NULL: none. */
int security_new(const char *path, struct metrics *m, struct security **ret_security,
		 struct error *err);
void security_free(struct security *s); /* NULL allowed */

#endif
