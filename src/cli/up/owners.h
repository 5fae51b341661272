/*
 * up_owners - sets the owners of the files in the data folder to the roles' users.
 *
 *   DIR              root, 0710          only roles may traverse it
 *   pki/             server, 0711        ca.crt for all roles, keys for the server
 *   store/           server, 0700
 *   kubeconfig/      root, 0711          each file belongs to its role
 *   nodes/NAME/      root, 0710          its drivers may traverse it
 *     plugins/DRIVER/  the driver, 2710  the node's agent may connect to sockets there
 *     plugins_registry/, devplane-sim/   drivers create sockets there, and remove their own
 *   cdi/             root, 0770          for all drivers
 *   the rest         root, 0700 and 0600
 *
 * If roles have no users of their own (the plan's uid_base is 0), everything belongs to root,
 * 0700.
 */
#ifndef CLI_UP_OWNERS_H
#define CLI_UP_OWNERS_H

#include "cli/up/roles.h"

/*
 * Creates the folders that roles need but may not create themselves. As root it also sets owners
 * and modes, even if the files belonged to an older devplane or to roles with other numbers. No
 * role may run yet. It follows no links, and skips files with several hard links.
 */
int up_owners_set(const struct up_plan *p, struct error *err);

#endif
