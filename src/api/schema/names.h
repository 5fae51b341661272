/*
 * names - formats of names and keys, with upstream's error messages.
 *
 * Each check returns NULL if the text is valid. Otherwise it returns the first error as a sentence
 * for a field error's detail, in the words of k8s.io/apimachinery's validation package. The
 * sentences are constants; nothing is allocated.
 */
#ifndef API_SCHEMA_NAMES_H
#define API_SCHEMA_NAMES_H

#include "api/schema/schema.h"
#include "base/core/str.h"
#include "base/text/names.h"

const char *names_dns_label(struct str s);
const char *names_dns_subdomain(struct str s);
const char *names_dns1035_label(struct str s);
const char *names_qualified(struct str s); /* label keys */
const char *names_label_value(struct str s);
const char *names_path_segment(struct str s);
const char *names_c_identifier(struct str s);
const char *names_semver(struct str s);
const char *names_uuid(struct str s);
const char *names_condition_reason(struct str s);
const char *names_config_key(struct str s); /* of ConfigMaps and Secrets */
const char *names_port_name(struct str s); /* IANA service names */
const char *names_env(struct str s); /* environment variables, as relaxed upstream */

/* Checks any of schema.h's formats. */
const char *names_check(enum schema_format format, struct str s);

/* Reports all errors at once. */
void names_find_faults(enum schema_format format, struct str s, struct names_faults *ret_faults);

/* Whether it is the name of a vendor's resource: "example.com/gpu", as in a Node's capacity. */
bool names_is_extended_resource(struct str s);

/* Lengths that several kinds share. */
enum {
	NAMES_DRIVER_MAX = 63,
	NAMES_IDENTIFIER_MAX = 32, /* the part of an attribute's name after its domain */
};

#endif
