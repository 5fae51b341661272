/*
 * regex_tables - Unicode's general categories, scripts and case folding; only regex/class.c
 * reads them. scripts/unicode writes them, and lint checks that they are what it writes.
 */
#ifndef BASE_REGEX_TABLES_H
#define BASE_REGEX_TABLES_H

#include "base/regex/regex_impl.h"

extern const char regex_category_names[][3];
extern const size_t regex_category_names_n;
extern const uint32_t regex_category_runs[];
extern const size_t regex_category_runs_n;

extern const char *const regex_script_names[];
extern const size_t regex_script_names_n;
extern const uint32_t regex_script_runs[];
extern const size_t regex_script_runs_n;

struct regex_fold {
	uint32_t low, high;
	int32_t by;
	uint32_t step;
};
extern const struct regex_fold regex_folds[];
extern const size_t regex_folds_n;

#endif
