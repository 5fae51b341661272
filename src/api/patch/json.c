/*
 * JSON Patch as implemented by kube-apiserver's library, which differs from RFC 6902. Replace
 * creates a missing member. Negative indexes count from the end. A missing value is null. Null
 * equals absence in a test. Text before a pointer's first slash is ignored. If a patch does not
 * fit, upstream gives clients no further reason.
 *
 * Members and elements are found by walking, so the steps are counted: ten thousand operations on
 * long lists would keep the thread busy for minutes.
 */
#include "api/patch/patch.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/vec.h"

struct patching {
	struct arena *arena;
	struct json *doc;
	struct error *err;
	size_t work; /* number of members and elements passed */
	bool untrue; /* a test was not met */
};

/* The target of an operation: a container and a name or index in it. */
struct place {
	struct json *in;
	struct str key; /* escapes decoded */
};

static int misfit(struct patching *p)
{
	return error_set(p->err, ERR_INVALID,
			 "the server rejected our request due to an error in our request");
}

/* RFC 6901: ~1 is a slash, ~0 a tilde. */
static struct str decode_token(struct arena *a, struct str token)
{
	char *out;
	size_t n = 0;

	if (str_chr(token, '~') < 0)
		return token;
	out = arena_alloc(a, token.n + 1);
	for (size_t i = 0; i < token.n; i++) {
		char next = i + 1 < token.n ? token.p[i + 1] : '\0';

		if (token.p[i] == '~' && (next == '0' || next == '1')) {
			out[n++] = next == '1' ? '/' : '~';
			i++;
		} else {
			out[n++] = token.p[i];
		}
	}
	return str_of(out, n);
}

/*
 * Parses an index into `n` elements; negative ones count from the end. Returns false if out of
 * range.
 */
static bool parse_index(struct str key, size_t n, size_t *ret_index)
{
	bool plus = key.n > 1 && key.p[0] == '+' && key.p[1] != '-';
	int64_t index;

	if (!str_to_i64(plus ? str_skip(key, 1) : key, &index))
		return false;
	if (index < 0)
		index += (int64_t)n;
	if (index < 0 || index >= (int64_t)n)
		return false;
	*ret_index = (size_t)index;
	return true;
}

/*
 * Reads the value at a place; NULL for an absent member. Returns false if the place cannot exist.
 */
static bool place_get(struct patching *p, struct place at, struct json **ret_value)
{
	size_t index;

	p->work += json_count(at.in);
	if (at.in->type == JSON_OBJECT) {
		*ret_value = json_get(at.in, at.key);
		return true;
	}
	if (!parse_index(at.key, at.in->n, &index))
		return false;
	*ret_value = json_at(at.in, index);
	return true;
}

/* Follows all but the last token. */
static bool place_find(struct patching *p, struct str pointer, struct place *ret_place)
{
	ptrdiff_t slash = str_chr(pointer, '/');
	struct place at = { .in = p->doc };
	struct json *next;
	struct str rest, token;

	if (slash < 0)
		return false;
	rest = str_skip(pointer, (size_t)slash + 1);
	/* An empty rest is one empty token; p NULL would end the split. */
	if (rest.n == 0)
		rest.p = "";
	while (str_split(&rest, '/', &token)) {
		at.key = decode_token(p->arena, token);
		if (!rest.p)
			break;
		if (!place_get(p, at, &next) || !json_is_container(next))
			return false;
		at.in = next;
	}
	*ret_place = at;
	return json_is_container(at.in);
}

static int place_add(struct patching *p, struct place at, struct json *value)
{
	size_t index;

	p->work += at.in->n;
	if (at.in->type == JSON_OBJECT) {
		json_set(at.in, arena_str(p->arena, at.key), value);
		return 0;
	}
	if (str_eqz(at.key, "-")) {
		json_append(at.in, value);
		return 0;
	}
	if (!parse_index(at.key, (size_t)at.in->n + 1, &index))
		return misfit(p);
	json_insert(at.in, index, value);
	return 0;
}

static int place_remove(struct patching *p, struct place at, struct json **ret_removed)
{
	struct json *value;

	if (!place_get(p, at, &value) || !value)
		return misfit(p);
	*ret_removed = json_unlink(at.in, value);
	return 0;
}

/* Makes a copy that may be added to the document; null for NULL. */
static int copy_value(struct patching *p, const struct json *value, struct json **ret_copy)
{
	if (value)
		return json_copy(p->arena, value, ret_copy, p->err);
	*ret_copy = json_make_null(p->arena);
	return 0;
}

static int op_add(struct patching *p, const struct json *op, struct str path)
{
	struct json *value;
	struct place at;
	int r;

	if (!place_find(p, path, &at))
		return misfit(p);
	r = copy_value(p, json_getz(op, "value"), &value);
	return r < 0 ? r : place_add(p, at, value);
}

static int op_remove(struct patching *p, const struct json *op, struct str path)
{
	struct json *removed;
	struct place at;

	return place_find(p, path, &at) ? place_remove(p, at, &removed) : misfit(p);
}

static int op_replace(struct patching *p, const struct json *op, struct str path)
{
	const struct json *given = json_getz(op, "value");
	struct json *old, *value;
	struct place at;
	int r;

	if (path.n == 0)
		return json_is_container(given) ? json_copy(p->arena, given, &p->doc, p->err)
						: misfit(p);
	if (!place_find(p, path, &at) || !place_get(p, at, &old))
		return misfit(p);
	r = copy_value(p, given, &value);
	if (r < 0)
		return r;
	if (!old)
		return place_add(p, at, value);
	json_assign(old, value);
	return 0;
}

static int op_move(struct patching *p, const struct json *op, struct str path)
{
	struct json *value;
	struct place at;
	int r;

	if (!place_find(p, json_text_at(op, "from"), &at))
		return misfit(p);
	r = place_remove(p, at, &value);
	if (r < 0)
		return r;
	return place_find(p, path, &at) ? place_add(p, at, value) : misfit(p);
}

static int op_copy(struct patching *p, const struct json *op, struct str path)
{
	struct json *value, *copy;
	struct place at;
	int r;

	if (!place_find(p, json_text_at(op, "from"), &at) || !place_get(p, at, &value))
		return misfit(p);
	if (!place_find(p, path, &at))
		return misfit(p);
	r = copy_value(p, value, &copy);
	return r < 0 ? r : place_add(p, at, copy);
}

static bool is_nothing(const struct json *v)
{
	return !v || v->type == JSON_NULL;
}

static int is_untrue(struct patching *p)
{
	p->untrue = true;
	return misfit(p);
}

static int op_test(struct patching *p, const struct json *op, struct str path)
{
	const struct json *expected = json_getz(op, "value");
	struct json *value = p->doc;
	struct place at;

	if (path.n && (!place_find(p, path, &at) || !place_get(p, at, &value)))
		return misfit(p);
	if (is_nothing(value) || is_nothing(expected))
		return is_nothing(value) && is_nothing(expected) ? 0 : is_untrue(p);
	return json_equal(value, expected) ? 0 : is_untrue(p);
}

static const struct {
	const char *name;
	int (*run)(struct patching *p, const struct json *op, struct str path);
	bool from; /* needs "from" */
} operations[] = {
	{ "add", op_add, false },  { "remove", op_remove, false }, { "replace", op_replace, false },
	{ "move", op_move, true }, { "copy", op_copy, true },      { "test", op_test, false },
};

/* Members that are present must be strings: 400, with the message of upstream's decoder. */
static int check_op(const struct json *op, struct error *err)
{
	static const char *const texts[] = { "op", "path", "from" };

	if (!json_is(op, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST,
				 "error decoding patch: an operation is not a JSON object");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct json *v = json_getz(op, texts[i]);

		if (v && v->type != JSON_NULL && v->type != JSON_STRING)
			return error_set(err, ERR_BAD_REQUEST,
					 "error decoding patch: json: cannot unmarshal into Go "
					 "struct field jsonPatchOp.%s of type string",
					 texts[i]);
	}
	return 0;
}

static int run_op(struct patching *p, const struct json *op)
{
	struct str name = json_text_at(op, "op"), path = json_text_at(op, "path");

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (!str_eqz(name, operations[i].name))
			continue;
		if (!path.p || (operations[i].from && !json_text_at(op, "from").p))
			return misfit(p);
		return operations[i].run(p, op, path);
	}
	return misfit(p);
}

/*
 * Copying a document into itself can nest it without limit, but stored objects must be parsed
 * again. So the depth is limited as in the parser.
 */
static bool is_too_deep(const struct json *root)
{
	VEC(const struct json *) up; /* the container at each level */
	const struct json *v = root;
	bool deep = false;

	vec_init(&up, JSON_DEPTH_MAX);
	while (v && !deep) {
		if (json_first(v)) {
			deep = !vec_push(&up, v);
			v = v->first;
			continue;
		}
		while (!v->next && up.n)
			v = up.v[--up.n];
		v = up.n ? v->next : NULL;
	}
	vec_release(&up);
	return deep;
}

/* Checks all operations before the first one runs. */
static int check_patch(const struct json *patch, struct error *err)
{
	int r;

	if (!json_is(patch, JSON_ARRAY))
		return error_set(
			err, ERR_BAD_REQUEST,
			"error decoding patch: json: cannot unmarshal into Go value of type "
			"[]handlers.jsonPatchOp");
	JSON_FOREACH (op, patch) {
		r = check_op(op, err);
		if (r < 0)
			return r;
	}
	if (patch->n > PATCH_OPS_MAX)
		return error_set(err, ERR_TOO_LARGE,
				 "The allowed maximum operations in a JSON patch is %d, got %u",
				 PATCH_OPS_MAX, patch->n);
	return 0;
}

int patch_json_explained(struct arena *a, struct json **doc, const struct json *patch,
			 struct patch_failure *ret_failure, struct error *err)
{
	struct patching p = { .arena = a, .doc = *doc, .err = err };
	int r = check_patch(patch, err);

	*ret_failure = (struct patch_failure){ 0 };
	if (r < 0)
		return r;
	JSON_FOREACH (op, patch) {
		r = run_op(&p, op);
		if (r < 0) {
			*ret_failure = (struct patch_failure){ op, p.untrue };
			return r;
		}
		if (p.work > PATCH_WORK_MAX)
			return error_set(err, ERR_TOO_LARGE,
					 "the JSON patch takes too many steps; split it into "
					 "several patches");
	}
	if (is_too_deep(p.doc))
		return misfit(&p);
	*doc = p.doc;
	return 0;
}

int patch_json(struct arena *a, struct json **doc, const struct json *patch, struct error *err)
{
	struct patch_failure ignored;

	return patch_json_explained(a, doc, patch, &ignored, err);
}
