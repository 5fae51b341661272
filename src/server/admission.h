/*
 * admission - rules on writes that depend on who writes, or on other objects.
 *
 * What an object alone must obey is validation's (src/api). Here is a table of plugins, named and
 * ordered as upstream's, that are asked at the state for each write of their kinds, dry runs too.
 * `mutate` comes when the object has its defaults, before validation, and may change it (and sets
 * m->write.mutated when what it put in needs defaults). `validate` comes when all is decided and
 * valid, before it is committed, and also for writes that change nothing. Both see the user
 * (m->x->user), what is stored (NULL: nothing), what takes its place (NULL: it goes; of a deletion
 * that has to wait, what is left of it) and what is asked for (m->op); committed state is at hand.
 * One that must wait for something parks the write (verb_impl.h).
 */
#ifndef SERVER_ADMISSION_H
#define SERVER_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct json;
struct mutation;
struct object;
struct write;

/* What is asked for, as upstream has it: a binding or an eviction is the creation of one. */
enum admission_op {
	ADMIT_CREATE = 1,
	ADMIT_UPDATE = 2,
	ADMIT_DELETE = 4,
	ADMIT_CONNECT = 8, /* exec, attach, port-forward, proxies */
	ADMIT_WRITES = 7,
	ADMIT_ALL = 15,
};

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

/* Phase one; the `mutate` of a struct write whose mutate_arg is the mutation. */
int admission_mutate(struct write *w, const struct json *old, struct json *object,
		     struct error *err);

/*
 * The same for what is created and is not stored itself: a Binding, an Eviction. Asks those who
 * are about any kind.
 */
int admission_mutate_foreign(struct mutation *m, struct json *object, struct error *err);

/*
 * Both phases for a request that leads on (connect.c), whose options may be changed; m->tree is
 * them. Asks those who are about any kind.
 */
int admission_connect(struct mutation *m, struct json *options, struct error *err);

/* Phase two. `base` is what is stored (NULL: creation). */
int admission_check(struct mutation *m, struct object *base, struct json *object,
		    struct error *err);

/* The same where what is stored was parsed already. */
int admission_check_tree(struct mutation *m, const struct json *old, struct json *object,
			 struct error *err);

#endif
