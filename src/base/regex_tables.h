/*
 * regex_tables - Unicode's general categories; only regex_class.c reads them.
 */
#ifndef BASE_REGEX_TABLES_H
#define BASE_REGEX_TABLES_H

#include "base/regex_impl.h"

extern const char regex_category_names[][3];
extern const size_t regex_category_names_n;
extern const uint32_t regex_category_runs[];
extern const size_t regex_category_runs_n;

#endif
