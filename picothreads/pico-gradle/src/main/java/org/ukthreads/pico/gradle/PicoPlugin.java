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
 * Translates what compileJava has made, in place and as its last action: so what was translated
 * is that task's output, and neither is done again while nothing has changed. The project depends
 * on pico-rt and pico-juc; dependencies of its own that block must have been translated, too
 * (`pico translate`), or their calls pin.
 *
 * <p>Gradle's interface changes from version to version: what is called here is in 4.3 and in
 * 8.11. Hence the source sets by the name of their property, and nothing of Kotlin or Groovy.
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
		/* The analysis is of the whole program, and of what javac wrote. */
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

	/** A class with a name: a task with an action of a lambda is never up to date. */
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
			/* Those of other languages are made by other tasks. */
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
