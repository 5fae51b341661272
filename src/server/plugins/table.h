/*
 * admission - rules on writes that depend on who writes, or on other objects.
 *
 * Validation (src/api) has the rules that an object must obey by itself. Here is a table of
 * plugins, named and ordered as upstream's. They are asked at the state about each write of their
 * kinds, dry runs too.
 *
 * `mutate` is called when the object has its defaults, before validation. It may change the
 * object, and sets req->write->mutated if what it put in needs defaults. `validate` is called when
 * the write is decided and valid, before it is committed; also for writes that change nothing. Both
 * get the request (admission/request.h), the stored object (NULL: none) and the object that takes
 * its place (NULL: it goes; of a deletion that has to wait, what is left of it). A plugin that has
 * to wait parks the write.
 */
#ifndef SERVER_PLUGINS_TABLE_H
#define SERVER_PLUGINS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct json;
struct admission_request;
struct object;
struct write;

enum { ADMISSION_PLUGINS_MAX = 64 };

/* Which plugins a server has switched on (1) and off (-1); 0: as they are by themselves. */
struct admission {
	int8_t said[ADMISSION_PLUGINS_MAX];
};

struct server_opts;

/* What --enable-admission-plugins and --disable-admission-plugins say. -ERR_INVALID. */
int admission_configure(struct admission *a, const struct server_opts *opts, struct error *err);

/* Switches one; false when there is none of that name. */
bool admission_switch(struct admission *a, struct str name, bool on);

/* The name of a plugin, by number; NULL when upstream has none of that name; "" behind the last. */
const char *admission_plugin(size_t i);

/* Phase one; the `mutate` of a struct write whose mutate_arg is the request. */
int admission_mutate(struct write *w, const struct json *old, struct json *object,
		     struct error *err);

/*
 * The same for what is created and is not stored itself: a Binding, an Eviction. Asks those who
 * are about any kind.
 */
int admission_mutate_foreign(struct admission_request *req, struct json *object, struct error *err);

/*
 * Both phases for a request that leads on (connect.c), whose options may be changed; req->tree is
 * them. Asks those who are about any kind.
 */
int admission_connect(struct admission_request *req, struct json *options, struct error *err);

/* Phase two. `base` is what is stored (NULL: creation). */
int admission_check(struct admission_request *req, struct object *base, struct json *object,
		    struct error *err);

/* The same where what is stored was parsed already. */
int admission_check_tree(struct admission_request *req, const struct json *old, struct json *object,
			 struct error *err);

#endif
