// SPDX-License-Identifier: Apache-2.0
// calls.cc - gRPC: an asynchronous server with two completion queues and four threads, and clients in
// threads that block and that use a queue.
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

static grpc::ByteBuffer packed(const std::string &s)
{
	grpc::Slice slice(s);
	return grpc::ByteBuffer(&slice, 1);
}

static std::string unpacked(const grpc::ByteBuffer &b)
{
	std::vector<grpc::Slice> slices;
	std::string s;

	(void)b.Dump(&slices);
	for (auto &slice : slices)
		s.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
	return s;
}

// Doubles a number: requested, read, written with its status, over.
struct Call {
	grpc::AsyncGenericService &service;
	grpc::ServerCompletionQueue &queue;
	grpc::GenericServerContext context;
	grpc::GenericServerAsyncReaderWriter stream{ &context };
	grpc::ByteBuffer question;
	int step = 0;

	Call(grpc::AsyncGenericService &s, grpc::ServerCompletionQueue &q)
	    : service(s), queue(q)
	{
		service.RequestCall(&context, &stream, &queue, &queue, this);
	}

	void go_on(bool ok)
	{
		if (!ok || step == 2) {
			delete this;
			return;
		}
		if (step++ == 0) {
			new Call(service, queue);
			stream.Read(&question, this);
			return;
		}
		stream.WriteAndFinish(
		    packed(std::to_string(2 * std::stol(unpacked(question)))), {},
		    grpc::Status::OK, this);
	}
};

static void serve(grpc::ServerCompletionQueue &queue)
{
	void *tag;
	bool ok;

	while (queue.Next(&tag, &ok))
		static_cast<Call *>(tag)->go_on(ok);
}

static long ask(const std::string &where, int k)
{
	grpc::GenericStub stub(
	    grpc::CreateChannel(where, grpc::InsecureChannelCredentials()));
	grpc::CompletionQueue queue;
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		grpc::ClientContext context;
		grpc::ByteBuffer answer;
		grpc::Status status;
		void *tag;
		bool ok;

		context.set_wait_for_ready(true);
		auto call = stub.PrepareUnaryCall(
		    &context, "/a/b", packed(std::to_string(k * 100 + i)), &queue);
		call->StartCall();
		call->Finish(&answer, &status, &context);
		if (queue.Next(&tag, &ok) && ok && status.ok())
			sum += std::stol(unpacked(answer));
	}
	return sum;
}

int main()
{
	grpc::AsyncGenericService service;
	grpc::ServerBuilder builder;
	int port = 0;

	builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
				 &port);
	builder.RegisterAsyncGenericService(&service);
	std::unique_ptr<grpc::ServerCompletionQueue> queues[2] = {
		builder.AddCompletionQueue(), builder.AddCompletionQueue()
	};
	std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
	std::vector<std::thread> servers, clients;
	std::atomic<long> sum{ 0 };

	for (int i = 0; i < 4; i++) {
		new Call(service, *queues[i % 2]);
		servers.emplace_back(serve, std::ref(*queues[i % 2]));
	}
	for (int k = 0; k < 20; k++)
		clients.emplace_back(
		    [&, k] { sum += ask("127.0.0.1:" + std::to_string(port), k); });
	for (auto &t : clients)
		t.join();
	server->Shutdown();
	for (auto &q : queues)
		q->Shutdown();
	for (auto &t : servers)
		t.join();
	std::cout << sum << "\n";
}
