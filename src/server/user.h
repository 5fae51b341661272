/*
 * user - who asks.
 */
#ifndef SERVER_USER_H
#define SERVER_USER_H

#include "base/str.h"

struct user {
	struct str name; /* "system:anonymous" when nobody said */
	struct str uid;
	const struct str *groups;
	size_t ngroups;
	bool authenticated;
};

#endif
