// SPDX-License-Identifier: Apache-2.0
import io.temporal.activity.ActivityInterface;
import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowStub;
import io.temporal.testing.TestWorkflowEnvironment;
import io.temporal.worker.Worker;
import io.temporal.activity.ActivityOptions;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs workflows of many steps on Temporal's test server, which stores nothing on disk. */
public final class Steps {
	@ActivityInterface
	public interface Act {
		long step(long sum, int k);
	}

	public static final class ActImpl implements Act {
		@Override
		public long step(long sum, int k) {
			return sum * 31 + k;
		}
	}

	@WorkflowInterface
	public interface Flow {
		@WorkflowMethod
		long run(int steps);
	}

	public static final class FlowImpl implements Flow {
		private final Act act = Workflow.newActivityStub(Act.class, ActivityOptions.newBuilder()
			.setStartToCloseTimeout(Duration.ofMinutes(5)).build());

		@Override
		public long run(int steps) {
			long sum = 0;
			for (int k = 0; k < steps; k++)
				sum = act.step(sum, k);
			return sum;
		}
	}

	private Steps() {}

	private static void round(TestWorkflowEnvironment env, int threads, int steps) {
		WorkflowClient c = env.getWorkflowClient();
		List<WorkflowStub> all = new ArrayList<>();
		for (int k = 0; k < threads; k++) {
			WorkflowStub s = c.newUntypedWorkflowStub("Flow",
				WorkflowOptions.newBuilder().setTaskQueue("q").build());
			s.start(steps);
			all.add(s);
		}
		for (WorkflowStub s : all)
			s.getResult(Long.class);
	}

	public static void main(String[] args) {
		int threads = Integer.parseInt(args[0]);
		int steps = Integer.parseInt(args[1]);
		TestWorkflowEnvironment env = TestWorkflowEnvironment.newInstance();
		Worker w = env.newWorker("q");
		w.registerWorkflowImplementationTypes(FlowImpl.class);
		w.registerActivitiesImplementations(new ActImpl());
		env.start();
		round(env, 10, 20);
		long start = System.nanoTime();
		round(env, threads, steps);
		double s = (System.nanoTime() - start) / 1e9;
		System.out.println("{\"bench\":\"temporal-test-server\",\"on\":\"memory\",\"steps\":"
			+ threads * steps + ",\"steps_per_s\":" + Math.round(threads * steps / s) + "}");
		env.close();
		System.exit(0);
	}
}
