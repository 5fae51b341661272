// grpc_server.mjs SOCKET: the probe's Echo method on @grpc/grpc-js, the yardstick for ours.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../tests/e2e/package.json', import.meta.url));
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const file = new URL('../proto/probe.proto', import.meta.url).pathname;
const { Probe } = grpc.loadPackageDefinition(loader.loadSync(file, { keepCase: true })).devplane.probe.v1;

const server = new grpc.Server();
server.addService(Probe.service, {
	Echo: (call, reply) => reply(null, { payload: call.request.payload }),
});
server.bindAsync(`unix:${process.argv[2]}`, grpc.ServerCredentials.createInsecure(), (error) => {
	if (error)
		throw error;
	console.log('listening');
});
