/*
 * The element that a value has under a key or at an index.
 */
#include <math.h>

#include "base/core/buf.h"
#include "cel/core/value.h"

enum {
	KEY_SHOWN_MAX = 1024, /* characters of a key in a message */
};

/* Converts any number type to an index. */
static bool value_select_index_of(const struct cel_value *key, int64_t *ret_index)
{
	switch (key->kind) {
	case CEL_INT:
		*ret_index = key->i;
		return true;
	case CEL_UINT:
		*ret_index = (int64_t)key->u;
		return key->u <= INT64_MAX;
	case CEL_DOUBLE:
		if (!(fabs(key->d) < 0x1p63) || key->d != trunc(key->d))
			return false;
		*ret_index = (int64_t)key->d;
		return true;
	default:
		return false;
	}
}

/* With the key in words; text, which keys are nearly always, needs no buffer. */
static struct cel_value value_select_fault(struct cel_eval *ev, const char *before,
					   const struct cel_value *key, const char *behind)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KEY_SHOWN_MAX);

	if (key->kind != CEL_STRING)
		cel_value_text(ev, key, &b);
	return cel_errorf(ev, "%s%.*s%s", before,
			  STR_ARG(key->kind == CEL_STRING ? key->s : buf_str(&b)), behind);
}

static struct cel_value bad_index(struct cel_eval *ev, const struct cel_value *key)
{
	if (key->kind == CEL_DOUBLE || key->kind == CEL_UINT)
		return value_select_fault(ev, "unsupported index value ", key, " in list");
	return cel_errorf(ev, "unsupported index type '%.*s' in list",
			  STR_ARG(cel_value_type(key)->name));
}

static struct cel_value from_list(struct cel_eval *ev, const struct cel_value *list,
				  const struct cel_value *key)
{
	int64_t i;

	if (!value_select_index_of(key, &i))
		return bad_index(ev, key);
	if (i < 0 || (uint64_t)i >= cel_list_size(list))
		return CEL_NOTHING;
	return cel_list_at(ev, list, (size_t)i);
}

struct cel_value cel_qualify(struct cel_eval *ev, const struct cel_value *operand,
			     const struct cel_value *key)
{
	switch (operand->kind) {
	case CEL_MAP:
		return operand->map.class->find(ev, operand->map.self, key);
	case CEL_OBJECT:
		if (key->kind != CEL_STRING)
			return CEL_NOTHING;
		return operand->object.class->get(ev, operand->object.self, key->s);
	case CEL_LIST:
		return from_list(ev, operand, key);
	default:
		return CEL_NOTHING;
	}
}

struct cel_value cel_missing(struct cel_eval *ev, const struct cel_value *operand,
			     const struct cel_value *key)
{
	return value_select_fault(
		ev, operand->kind == CEL_LIST ? "index out of bounds: " : "no such key: ", key, "");
}
