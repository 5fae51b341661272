/*
 * crd_checks - the functions that schema/ names for CustomResourceDefinitions.
 */
#ifndef API_CRD_CHECKS_H
#define API_CRD_CHECKS_H

#include "api/validate/validate.h"

schema_fill fill_crd_names; /* singular and list kind of a definition's spec */
schema_check_kind check_crd;
schema_check_update check_crd_update;
schema_check_update check_crd_status;

#endif
