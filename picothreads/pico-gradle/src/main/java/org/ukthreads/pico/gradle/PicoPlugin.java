// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.gradle;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.gradle.api.Action;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.Task;
import org.gradle.api.file.FileCollection;
import org.gradle.api.plugins.JavaPlugin;
import org.gradle.api.tasks.SourceSet;
import org.gradle.api.tasks.SourceSetContainer;
import org.gradle.api.tasks.compile.JavaCompile;
import org.ukthreads.pico.translate.Build;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;

/**
 * Translates what compileJava has made, in place and as the last action of that task. So the
 * translated classes are the task's output, and neither step is repeated while nothing has
 * changed. The project must depend on pico-rt and pico-juc. Its own dependencies that block
 * must be translated, too (`pico translate`); otherwise their calls pin.
 *
 * <p>Gradle's API changes from version to version. What is called here is in 4.3 and in 8.11,
 * so the source sets are found by the name of their property, and nothing of Kotlin or Groovy
 * is used.
 */
public final class PicoPlugin implements Plugin<Project> {
	@Override
	public void apply(Project project) {
		PicoExtension pico = project.getExtensions().create("pico", PicoExtension.class);
		project.getPlugins().withType(JavaPlugin.class, java -> {
			SourceSet main = ((SourceSetContainer) project.property("sourceSets"))
				.getByName(SourceSet.MAIN_SOURCE_SET_NAME);
			add((JavaCompile) project.getTasks().getByName(main.getCompileJavaTaskName()),
				main.getOutput().getClassesDirs(), pico);
		});
	}

	private static void add(JavaCompile compile, FileCollection classes, PicoExtension pico) {
		/* The analysis needs the whole program as javac wrote it. */
		compile.getOptions().setIncremental(false);
		input(compile, "hot", pico::getHot);
		input(compile, "library", pico::isLibrary);
		input(compile, "conservative", pico::getConservative);
		compile.getInputs().files((Callable<List<File>>) () -> files(pico, compile));
		compile.doLast(new Translate(classes, pico));
	}

	private static void input(Task task, String name, Callable<Object> value) {
		task.getInputs().property("pico." + name, value);
	}

	/** The rules, and the profile if there is one. */
	private static List<File> files(PicoExtension pico, Task task) {
		List<File> all = new ArrayList<>(pico.getRules());
		File profile = task.getProject().file(pico.getHot());
		if (profile.isFile())
			all.add(profile);
		return all;
	}

	/** A named class, because a task whose action is a lambda is never up to date. */
	private static final class Translate implements Action<Task> {
		private final FileCollection classes;
		private final PicoExtension pico;

		Translate(FileCollection classes, PicoExtension pico) {
			this.classes = classes;
			this.pico = pico;
		}

		@Override
		public void execute(Task task) {
			List<Path> path = new ArrayList<>();
			for (File f : ((JavaCompile) task).getClasspath())
				path.add(f.toPath());
			/* Other tasks make the classes of other languages. */
			for (File dir : classes)
				if (dir.isDirectory() && task.getOutputs().getFiles().contains(dir))
					translate(task, dir.toPath(), path);
		}

		private void translate(Task task, Path dir, List<Path> path) {
			try {
				Translator.Options o = new Translator.Options();
				o.library = pico.isLibrary();
				File profile = task.getProject().file(pico.getHot());
				o.hot = Hot.of(profile.isFile() ? profile.getPath() : pico.getHot());
				pico.getConservative().forEach(p -> o.conservative.add(p.replace('.', '/')));
				for (File f : pico.getRules())
					o.rules.add(Files.readString(f.toPath()));
				String lacks = Build.lacks(path);
				if (lacks.isEmpty())
					task.getLogger().info(Build.inPlace(dir, path, o).text(false));
				else
					task.getLogger().warn("pico: " + task.getProject().getName() + " is " + lacks);
			} catch (IOException e) {
				throw new UncheckedIOException("pico: " + dir + ": " + e, e);
			}
		}
	}
}
