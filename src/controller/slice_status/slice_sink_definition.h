/*
 * slice_sink_definition - the CustomResourceDefinition of ResourceSliceStatus, as YAML: the text of
 * deploy/availability/definition.yaml.
 */
#ifndef CONTROLLER_SLICE_STATUS_SLICE_SINK_DEFINITION_H
#define CONTROLLER_SLICE_STATUS_SLICE_SINK_DEFINITION_H

extern const char slice_sink_definition[];

#endif
