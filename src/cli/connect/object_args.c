/*
 * Either every operand has its type, or the first one is the type (or types) of all others.
 */
#include "cli/connect/object_args.h"

#include "client/api/discovery.h"

struct parse {
	struct kube *kube;
	struct object_args *args;
	size_t room;
};

/* The resource of resource.k8s.io that users call so; or empty. */
static struct str long_name(struct str word)
{
	static const struct {
		const char *one, *many, *resource;
	} v[] = {
		{ "claim", "claims", "resourceclaims.resource.k8s.io" },
		{ "claimtemplate", "claimtemplates", "resourceclaimtemplates.resource.k8s.io" },
		{ "slice", "slices", "resourceslices.resource.k8s.io" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (str_ieq(word, str_from(v[i].one)) || str_ieq(word, str_from(v[i].many)))
			return str_from(v[i].resource);
	return STR_NULL;
}

/* A type that the server has comes first: others may serve a resource "claims" of their own. */
static int find_type(struct kube *k, struct str word, const struct discovery_resource **ret_type,
		     struct error *err)
{
	int r = kube_resource(k, word, ret_type, err);
	struct str name = long_name(word);

	if (r == -ERR_NOT_FOUND && name.n > 0 && kube_resource(k, name, ret_type, NULL) == 0)
		return 0;
	return r;
}

static int object_args_add(struct parse *p, struct str type, struct str name, struct error *err)
{
	struct object_arg arg = { .name = name };
	int r = find_type(p->kube, type, &arg.type, err);

	if (r < 0)
		return r;
	if (p->args->n > 0 && p->args->v[0].type != arg.type)
		p->args->several_types = true;
	p->args->v[p->args->n++] = arg;
	return 0;
}

static int parse_pairs(struct parse *p, const struct flag_list *operands, struct error *err)
{
	struct str rest, type;
	int r = 0;

	for (size_t i = 0; i < operands->n && r == 0; i++) {
		rest = str_from(operands->v[i]);
		(void)str_split(&rest, '/', &type);
		if (rest.n == 0 || type.n == 0)
			return cli_bad_usage(p->kube->cli, err,
					     "\"%s\" is not TYPE/NAME, as the others are",
					     operands->v[i]);
		r = object_args_add(p, type, rest, err);
	}
	return r;
}

static int parse_types(struct parse *p, const struct flag_list *operands, struct error *err)
{
	struct str rest = str_from(operands->v[0]), type;
	int r = 0;

	while (r == 0 && str_split(&rest, ',', &type)) {
		if (operands->n == 1)
			r = object_args_add(p, type, STR_NULL, err);
		for (size_t i = 1; i < operands->n && r == 0; i++) {
			if (strchr(operands->v[i], '/'))
				return cli_bad_usage(
					p->kube->cli, err,
					"\"%s\" has its own type: write either TYPE NAME.. or "
					"TYPE/NAME..",
					operands->v[i]);
			r = object_args_add(p, type, str_from(operands->v[i]), err);
		}
	}
	return r;
}

int object_args_parse(struct kube *k, const struct flag_list *operands,
		      struct object_args *ret_args, struct error *err)
{
	struct parse p = { .kube = k, .args = ret_args };
	size_t types = 1;

	*ret_args = (struct object_args){ 0 };
	if (operands->n == 0)
		return cli_bad_usage(k->cli, err, "name a type of objects, such as pods");
	for (const char *c = operands->v[0]; *c; c++)
		types += *c == ',';
	p.room = types * operands->n;
	ret_args->v = ARENA_ARRAY(&k->cli->arena, struct object_arg, p.room);
	return strchr(operands->v[0], '/') ? parse_pairs(&p, operands, err)
					   : parse_types(&p, operands, err);
}

struct str object_args_word(struct arena *a, const struct discovery_resource *type)
{
	const struct resource *r = &type->resource;
	struct str kind = arena_lower(a, r->kind);

	if (r->group.n == 0)
		return kind;
	return str_from(arena_printf(a, "%.*s.%.*s", STR_ARG(kind), STR_ARG(r->group)));
}
