/*
 * xid_rules - how serious each Xid is: a built-in table, and rules from a file that override it.
 *
 * An Xid is the number of an error that NVIDIA's kernel module reports. Sources disagree about some
 * of them. The table then takes the mildest class, or XID_ASK, because the driver's recovery action
 * (gpu_poll in health.h) always has the last word.
 *
 * The file is YAML or JSON. The last rule for an Xid wins:
 *
 *	rules:
 *	- xid: 109            # a number, a range "144-150", or a list of these
 *	  class: fatal        # ignored, application, contained, fatal, lost or recovery
 *	  text: the GPU hangs # optional; shown in messages
 *	  action: reset the GPU
 */
#ifndef DRIVERS_GPU_HEALTH_RULES_H
#define DRIVERS_GPU_HEALTH_RULES_H

#include "base/core/error.h"
#include "base/core/str.h"

enum xid_class {
	XID_IGNORED, /* says nothing about the GPU or a program */
	XID_APPLICATION, /* a program's fault: the GPU is fine, the program has ended */
	XID_CONTAINED, /* the GPU works, with a defect that it has isolated */
	XID_FATAL, /* no program can use the GPU until it was reset */
	XID_LOST, /* the machine does not see the GPU any more */
	XID_ASK, /* the driver's recovery action decides; "recovery" in the file */
};

struct xid_rule {
	uint32_t first, last; /* the Xids that it is for */
	enum xid_class class;
	const char *text; /* what happened: "double-bit ECC error" */
	const char *action; /* the next step: "reset the GPU" */
};

struct xid_rules;

/* The built-in table. */
struct xid_rules *xid_rules_new(void);
void xid_rules_free(struct xid_rules *r); /* NULL allowed */

/*
 * Adds the rules of a file's text. -ERR_INVALID: the error names the rule, and its line where the
 * text has one line per rule at least. On failure nothing changes.
 */
int xid_rules_add(struct xid_rules *r, struct str text, struct error *err);

/* The same from a file; the error names it. */
int xid_rules_load(struct xid_rules *r, const char *path, struct error *err);

/* Never NULL: an unknown Xid has a rule of the class XID_ASK. Borrowed from `r`. */
const struct xid_rule *xid_rules_find(const struct xid_rules *r, uint32_t xid);

/* "application"; NULL if there is no such class. */
const char *xid_class_name(enum xid_class class);

DEFINE_CLEANUP(xid_rules_free, struct xid_rules *);

#endif
