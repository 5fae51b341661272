/*
 * reply_form - the forms in which objects are shown, other than their bytes.
 *
 * A stored object's bytes are its plain form: JSON of the storage version.
 * Everything else (another version, YAML, for people, Table,
 * PartialObjectMetadata) is made here from its tree, one object at a time, so
 * that lists of any length are made in pieces. Protobuf is made in reply_message.h.
 */
#ifndef SERVER_HTTP_REPLY_FORM_H
#define SERVER_HTTP_REPLY_FORM_H

#include "api/object/object.h"
#include "api/table/table.h"
#include "base/json/json.h"
#include "server/request/negotiate.h"

struct exchange;

struct reply_form {
	enum accept_as as;
	bool yaml, pretty;
	bool protobuf; /* then reply_message.h makes it */
	const struct schema_kind *kind; /* the version that is shown */
	struct str version; /* of Table and PartialObjectMetadata */
	enum table_include include;
	int64_t now_ns; /* for ages */
};

/* What an exchange asks for. */
struct reply_form reply_form_of(const struct exchange *x);

/* Whether the JSON of an object is what is wanted. */
bool reply_form_is_plain(const struct reply_form *f);

/* The tree of what is shown of a committed object, in the form's version. Borrows its text. */
int reply_form_tree(const struct reply_form *f, struct arena *a, const struct object *o,
		    struct json **ret_tree, struct error *err);

/* Appends the whole answer for one object; its tree may be changed. */
int reply_form_print(const struct reply_form *f, struct arena *a, struct json *tree,
		     struct buf *out, struct error *err);

/*
 * A list: what comes before the items, each item (with its separator), the
 * end. `meta` is JSON text of a ListMeta.
 */
int reply_form_begin(const struct reply_form *f, struct str meta, bool empty, struct buf *out);
int reply_form_item(const struct reply_form *f, struct arena *a, struct json *tree, bool first,
		    struct buf *out, struct error *err);
int reply_form_end(const struct reply_form *f, struct arena *a, struct str meta, bool empty,
		   struct buf *out);

/* Appends JSON text in another guise: YAML, or indented. */
int reply_form_restyle(bool yaml, struct arena *a, struct str json, struct buf *out,
		       struct error *err);

#endif
