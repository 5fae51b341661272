/*
 * up_credentials - kubeconfigs of roles. A kubeconfig has a client certificate of the cluster's CA,
 * or names a file with a token, which the role reads again from time to time. A role that serves
 * a node's API also has a serving certificate of the same CA, for the node's name.
 *
 * Files are 0600. Certificates live for a year and are made anew at every start of their role.
 */
#ifndef CLI_UP_CREDENTIALS_H
#define CLI_UP_CREDENTIALS_H

#include "cli/up/roles.h"

/*
 * Writes the role's kubeconfig for a server at `url`, and its serving certificate; a token's file
 * is written apart.
 */
int up_credentials_write(const struct up_plan *p, const struct up_role *r, const char *url,
			 struct error *err);

int up_credentials_write_token(const struct up_plan *p, const struct up_role *r, struct str token,
			       struct error *err);

/*
 * Writes admin.kubeconfig, for whoever runs `up` alone. An earlier one that is still good stays
 * where a new one cannot be written, as on a full disk.
 */
int up_credentials_write_admin(const struct up_plan *p, const char *url, struct error *err);

#endif
