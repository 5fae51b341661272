/*
 * lmdb_check - compares the tables for store_lmdb_check().
 */
#ifndef STORE_LMDB_CHECK_H
#define STORE_LMDB_CHECK_H

#include "store/lmdb/env.h"
#include "store/lmdb/tools.h"

/* Checks an open environment. Fills the report; the caller releases it. */
int lmdb_check_env(const struct lmdb_env *e, struct store_lmdb_report *ret_report,
		   struct error *err);

#endif
