/*
 * Resolves names. A name is searched in the container, then in the enclosing ones, as in C++. A
 * leading dot searches the outermost level only. Variables of folds hide all names except those
 * with a leading dot. Types are constants.
 */
#include "cel/check/check_impl.h"
#include "cel/core/wellknown.h"

/* The ways to complete a name: first all of the container in front, at last nothing. */
struct candidates {
	struct checker *c;
	struct str name; /* without a dot in front */
	struct str prefix; /* the next candidate; p NULL: no candidate is left */
};

static struct candidates candidates_of(struct checker *c, struct str name)
{
	struct candidates all = { .c = c, .name = name, .prefix = c->env->container };

	if (name.n > 0 && name.p[0] == '.') {
		all.name = str_skip(name, 1);
		all.prefix = STR("");
	}
	if (all.prefix.n == 0)
		all.prefix = STR("");
	return all;
}

static bool candidates_next(struct candidates *all, struct str *ret_name)
{
	size_t n = all->prefix.n;

	if (!all->prefix.p)
		return false;
	if (n == 0) {
		*ret_name = all->name;
		all->prefix = STR_NULL;
		return true;
	}
	*ret_name = str_from(
		arena_printf(all->c->arena, "%.*s.%.*s", STR_ARG(all->prefix), STR_ARG(all->name)));
	while (n > 0 && all->prefix.p[n - 1] != '.')
		n--;
	all->prefix.n = n > 0 ? n - 1 : 0;
	return true;
}

static const struct cel_type *standard_type(struct str name)
{
	static const struct cel_type *const types[] = {
		&cel_bool,   &cel_bytes,     &cel_double,    &cel_duration,
		&cel_int,    &cel_list_dyn,  &cel_map_dyn,   &cel_null,
		&cel_string, &cel_timestamp, &cel_type_type, &cel_uint,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_eq(types[i]->name, name))
			return types[i];
	}
	return NULL;
}

static const struct cel_type *library_type(const struct cel_library *lib, struct str name)
{
	for (const struct cel_type *const *t = lib->types; t && *t; t++) {
		if (str_eq((*t)->name, name))
			return *t;
	}
	return NULL;
}

static const struct cel_type *named_type(struct checker *c, struct str name)
{
	const struct cel_type *type = standard_type(name);
	const struct cel_message *message;

	for (size_t i = 0; !type && c->env->libraries[i]; i++)
		type = library_type(c->env->libraries[i], name);
	if (type)
		return type;
	message = cel_wellknown_find(name);
	return message ? &message->type : NULL;
}

/* A variable of the environment, a type, or the one enumerated value there is. */
static bool resolve_global(struct checker *c, struct str name, struct check_name *ret_name)
{
	const struct cel_env *env = c->env;
	const struct cel_type *type;

	for (size_t i = 0; i < env->nvariables; i++) {
		if (str_eq(env->variables[i].name, name)) {
			*ret_name = (struct check_name){ .name = name,
							 .type = env->variables[i].type,
							 .variable = (int32_t)i };
			return true;
		}
	}
	type = named_type(c, name);
	if (type) {
		*ret_name = (struct check_name){ .name = name,
						 .type = cel_type_of(c->arena, type),
						 .variable = -1,
						 .constant = CEL_TYPE_V(type) };
		return true;
	}
	if (!str_eqz(name, "google.protobuf.NullValue.NULL_VALUE"))
		return false;
	*ret_name = (struct check_name){
		.name = name, .type = &cel_int, .variable = -1, .constant = CEL_INT_V(0)
	};
	return true;
}

static const struct check_local *find_local(const struct checker *c, struct str name)
{
	for (const struct check_local *l = c->locals; l; l = l->outer) {
		if (str_eq(l->name, name))
			return l;
	}
	return NULL;
}

bool check_resolve(struct checker *c, struct str name, bool qualified, struct check_name *ret_name)
{
	struct candidates all = candidates_of(c, name);
	ptrdiff_t dot = qualified ? str_chr(name, '.') : -1;
	const struct check_local *local = find_local(c,
						     dot < 0 ? name : str_of(name.p, (size_t)dot));

	if (local && dot >= 0)
		return false; /* a field of the local variable */
	if (local) {
		*ret_name = (struct check_name){ .name = name,
						 .type = local->type,
						 .variable = -1 };
		return true;
	}
	while (candidates_next(&all, &name)) {
		if (resolve_global(c, name, ret_name))
			return true;
	}
	return false;
}

bool check_qualified_name(struct checker *c, const struct cel_expr *e, struct str *ret_name)
{
	struct str inner;

	if (e->kind == CEL_EXPR_IDENT) {
		*ret_name = e->name;
		return true;
	}
	if (e->kind != CEL_EXPR_SELECT || e->test_only ||
	    !check_qualified_name(c, e->children[0], &inner))
		return false;
	*ret_name = str_from(arena_printf(c->arena, "%.*s.%.*s", STR_ARG(inner), STR_ARG(e->name)));
	return true;
}

bool check_resolve_message(struct checker *c, struct str name,
			   const struct cel_message **ret_message, const struct cel_type **ret_type)
{
	struct candidates all = candidates_of(c, name);

	while (candidates_next(&all, &name)) {
		*ret_message = cel_wellknown_find(name);
		if (!*ret_message && c->env->find_message)
			*ret_message = c->env->find_message(c->arena, name);
		*ret_type = *ret_message ? &(*ret_message)->type : named_type(c, name);
		if (*ret_type)
			return true;
	}
	return false;
}

/* Collects the overloads of one full name, or only counts them. */
static size_t names_collect(struct checker *c, struct str name, const struct cel_overload **out)
{
	size_t total = 0;

	for (size_t l = 0; c->env->libraries[l]; l++) {
		size_t n = 0;
		const struct cel_overload *rows = cel_library_find(c->env->libraries[l], name, &n);

		for (size_t i = 0; i < n && out; i++)
			out[total + i] = &rows[i];
		total += n;
	}
	return total;
}

size_t check_function(struct checker *c, struct str name, struct str *ret_name,
		      const struct cel_overload ***ret_overloads)
{
	struct candidates all = candidates_of(c, name);

	while (candidates_next(&all, &name)) {
		size_t n = names_collect(c, name, NULL);

		if (n == 0)
			continue;
		*ret_overloads = ARENA_ARRAY(c->arena, const struct cel_overload *, n);
		*ret_name = name;
		return names_collect(c, name, *ret_overloads);
	}
	return 0;
}
