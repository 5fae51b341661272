// Shared by the api_ssa*_test.mjs: applying, and the managers of fields.
import assert from "node:assert/strict"
import { expect } from "./api_lib.mjs"

export const yaml = "application/apply-patch+yaml"

// Applies as a manager (null: without one); `more` are further parameters, such as { force: true }.
export function apply(client, path, body, fieldManager = "one", more = {}, options = {}) {
	const query = new URLSearchParams({ ...(fieldManager !== null && { fieldManager }), ...more })
	return client.patch(`${path}?${query}`, body, yaml, options)
}

// Applies and fails unless the answer has this code; returns the object.
export async function applied(client, path, body, fieldManager, more, code = 200) {
	return expect(await apply(client, path, body, fieldManager, more), code)
}

// An entry's name in one word: manager, operation, version and subresource.
function nameOf({ manager, operation, apiVersion, subresource }) {
	return [manager, operation, apiVersion, ...(subresource ? [subresource] : [])].join(" ")
}

// The managers of fields: fieldsV1 by the entry's name.
export function managers(object) {
	const entries = object.metadata.managedFields ?? []
	for (const { fieldsType } of entries)
		assert.equal(fieldsType, "FieldsV1")
	return Object.fromEntries(entries.map((entry) => [nameOf(entry), entry.fieldsV1]))
}

// The times of entries by their names.
export function times(object) {
	return Object.fromEntries(object.metadata.managedFields.map((entry) => [nameOf(entry), entry.time]))
}

// Fails unless an answer is this Status; reason and causes may be absent. A cause is [reason, field, message]; their order is free.
export function expectRefusal(answer, code, reason, message, causes) {
	const status = expect(answer, code)
	assert.deepEqual([status.kind, status.apiVersion, status.status, status.code], ["Status", "v1", "Failure", code])
	assert.equal(status.message, message)
	assert.equal(status.reason, reason)
	const found = status.details?.causes?.map((cause) => [cause.reason, cause.field, cause.message]).sort()
	assert.deepEqual(found, causes?.sort())
	return status
}

// Fails unless an answer is a conflict of this message; a cause is [field, message].
export function expectConflict(answer, message, ...causes) {
	const status = expectRefusal(answer, 409, "Conflict", message, causes.map(([field, text]) => ["FieldManagerConflict", field, text]))
	// Neither name nor kind: upstream has causes alone.
	assert.deepEqual(Object.keys(status.details), ["causes"])
	return status
}
