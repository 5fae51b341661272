/*
 * up_credentials - writes the kubeconfigs of roles.
 *
 * A kubeconfig has a client certificate of the cluster's CA, or names a file with a token, which
 * the role reads again from time to time. A role that serves a node's API also gets a serving
 * certificate of the same CA, for the node's name.
 *
 * Files have mode 0600. Certificates are valid for a year and are renewed at every start of their
 * role.
 */
#ifndef CLI_UP_CREDENTIALS_H
#define CLI_UP_CREDENTIALS_H

#include "cli/up/roles.h"

/*
 * Writes the role's kubeconfig for a server at `url`, and its serving certificate. The token's
 * file is written separately.
 */
int up_credentials_write(const struct up_plan *p, const struct up_role *r, const char *url,
			 struct error *err);

int up_credentials_write_token(const struct up_plan *p, const struct up_role *r, struct str token,
			       struct error *err);

/*
 * Writes admin.kubeconfig, readable only by the user who runs `up`. If it cannot be written, for
 * example because the disk is full, an existing one that is still valid is kept.
 */
int up_credentials_write_admin(const struct up_plan *p, const char *url, struct error *err);

#endif
