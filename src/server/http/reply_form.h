/*
 * reply_form - encodes objects in forms other than their stored bytes.
 *
 * A stored object's bytes are its plain form: JSON in the storage version. Every other form
 * (another version, YAML, indented, Table, PartialObjectMetadata) is made here from its tree, one
 * object at a time, so that lists of any length are made in parts. reply_message.h makes
 * protobuf.
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
	bool protobuf; /* made by reply_message.h */
	const struct schema_kind *kind; /* in the version to show */
	struct str version; /* for Table and PartialObjectMetadata */
	enum table_include include;
	int64_t now_ns; /* for ages */
};

/* The form that the exchange negotiated. */
struct reply_form reply_form_of(const struct exchange *x);

/* Whether the form is the object's own JSON. */
bool reply_form_is_plain(const struct reply_form *f);

/* The tree of a committed object, in the form's version. Borrows its text. */
int reply_form_tree(const struct reply_form *f, struct arena *a, const struct object *o,
		    struct json **ret_tree, struct error *err);

/* Appends the whole body for one object; may change its tree. */
int reply_form_print(const struct reply_form *f, struct arena *a, struct json *tree,
		     struct buf *out, struct error *err);

/*
 * A list: the text before the items, each item (with its separator), the end. `meta` is the
 * ListMeta as JSON text.
 */
int reply_form_begin(const struct reply_form *f, struct str meta, bool empty, struct buf *out);
int reply_form_item(const struct reply_form *f, struct arena *a, struct json *tree, bool first,
		    struct buf *out, struct error *err);
int reply_form_end(const struct reply_form *f, struct arena *a, struct str meta, bool empty,
		   struct buf *out);

/* Appends JSON text as YAML, or indented. */
int reply_form_restyle(bool yaml, struct arena *a, struct str json, struct buf *out,
		       struct error *err);

#endif
