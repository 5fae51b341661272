// podres_server.mjs OURS SOCKET: List of PodResources on @grpc/grpc-js, the yardstick for ours.
//
// Asks the agent at OURS once and gives the same answer to everybody, packed for each call, as servers do.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../tests/e2e/package.json', import.meta.url));
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [ours, socket] = process.argv.slice(2);
const file = new URL('../tests/e2e/proto/podresources_v1.proto', import.meta.url).pathname;
const { PodResourcesLister } = grpc.loadPackageDefinition(loader.loadSync(file, { keepCase: true, longs: String })).v1;

const client = new PodResourcesLister(`unix:${ours}`, grpc.credentials.createInsecure());
client.List({}, (failure, answer) => {
	if (failure)
		throw failure;
	const server = new grpc.Server();
	server.addService(PodResourcesLister.service, { List: (call, reply) => reply(null, answer) });
	server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) => {
		if (error)
			throw error;
		console.log('listening');
	});
});
