/*
 * names - formats of names and keys, with upstream's words for what is wrong.
 *
 * Each check returns NULL when the text is fine, else the first fault as a
 * sentence that goes into a field error's detail, as k8s.io/apimachinery's
 * validation package has it.
 */
#ifndef API_NAMES_H
#define API_NAMES_H

#include "api/schema.h"
#include "base/str.h"

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

/* Any of schema.h's formats. */
const char *names_check(enum schema_format format, struct str s);

#endif
