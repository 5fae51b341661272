/*
 * write_impl - functions that the files of write and the strategies share.
 *
 * Every tree that is not const belongs to the request and lives in w->arena.
 */
#ifndef API_WRITE_WRITE_IMPL_H
#define API_WRITE_WRITE_IMPL_H

#include "api/schema/tree.h"
#include "api/write/write.h"
#include "base/json/json.h"

/* --- metadata ---------------------------------------------------------------------- */

/* Returns the metadata of an object; creates it if missing. */
struct json *write_meta(struct arena *a, struct json *object);

/* Sorts the members of metadata into the order in which upstream prints them. */
void write_order_meta(struct arena *a, struct json *object);

/* Sets the namespace of the path. -ERR_BAD_REQUEST if the object has another one. */
int write_check_namespace(struct write *w, struct json *object, struct error *err);

/* -ERR_BAD_REQUEST unless the body's name is that of the path. */
int write_check_name(struct write *w, const struct json *object, struct error *err);

/* Drops repeated owner references, with a warning. */
void write_dedup_owners(struct write *w, struct json *object);

/* Restores the stored values of the metadata that clients cannot change. */
void write_keep_meta(struct arena *a, struct json *meta, const struct json *old_meta);

/* Whether spec, or any other member except metadata and status, differs. */
bool write_spec_changed(const struct json *object, const struct json *old);

/*
 * The kind whose rules apply to a write: the storage version, into which the object was converted.
 * Each version of a custom kind has its own schema and its own rules.
 */
static inline const struct schema_kind *write_rules(const struct write *w)
{
	return w->kind->custom ? w->kind : w->kind->storage;
}

/* Fits a body or patched object to `kind`, by decode_fit() or by a custom kind's schema. */
int write_fit(struct write *w, struct json *object, const struct schema_kind *kind,
	      struct decode_report *report, struct error *err);

/* --- steps -------------------------------------------------------------------------- */

/*
 * Turns a replaced tree of the request's version into the tree to store. All updates and patches
 * end with this, after their own checks.
 */
int write_finish_update(struct write *w, const struct json *stored, struct json *object,
			struct json **ret_object, struct error *err);

/*
 * Returns the object in the request's version with the patch applied, fitted to its type, under the
 * name of the path. write_patch() continues with it.
 */
int write_patch_form(struct write *w, const struct json *old, enum patch_type type,
		     const struct json *patch, struct json **ret_doc, struct error *err);

/* -ERR_CONFLICT if the new object has a uid that differs from the stored one. */
int write_check_uid(const struct json *old, const struct json *object, struct error *err);

/*
 * Whether only timestamps in managedFields differ: such an apply is not a write. The object then
 * gets the stored timestamps.
 */
bool write_same_but_times(struct write *w, struct json *object, const struct json *stored);

/* Records in managedFields which fields this write changed. */
void write_manage(struct write *w, struct json *object, const struct json *old);

/* Returns 0, or -ERR_INVALID if w->errs is not empty. */
int write_result(struct write *w, struct error *err);

/* --- faults (write/faults.c) -------------------------------------------------------- */

/*
 * Handles the faults of a decode as fieldValidation demands: rejects, warns or ignores. On
 * rejection, w->message lists all of them.
 */
int write_take_report(struct write *w, const struct decode_report *report, struct error *err);

/*
 * Sorts the report of a body, which was parsed and fitted to `kind`, into upstream's order if it is
 * not sorted yet. For that it reads the body again. Fails as the first reading might have.
 */
int write_retell(struct write *w, struct str body, enum decode_format format,
		 const struct schema_kind *kind, struct decode_report *report, struct error *err);

/* Returns a report that starts with the faults of the patch's own text. */
struct decode_report write_patch_report(struct write *w);

/* --- ends --------------------------------------------------------------------------- */

/* Sets the garbage collector's finalizers by the options; events have none. */
void write_set_propagation(struct write *w, struct json *meta, const struct delete_options *o);

/* --- the KEP's names (write/alias.c) ------------------------------------------------ */

/* Decides between the remembered names by the stored object: the value that is new wins. */
void write_settle_aliases(struct write *w, struct json *object, const struct json *old);

/* Adds KEP-4817's names next to upstream's. Returns true if it added one. */
bool write_show_names(struct arena *a, struct json *network);

/*
 * A JSON patch applies to a claim as clients see it, with both names. So the object gets both names
 * first, in place, and so do the values in a copy of the patch. From then on write_fold_aliases()
 * treats a missing name as removed.
 */
void write_show_aliases(struct write *w, struct json *object);
const struct json *write_complete_patch(struct write *w, const struct json *patch);

#endif
