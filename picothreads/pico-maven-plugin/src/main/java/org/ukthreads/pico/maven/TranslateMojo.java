// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.maven;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.maven.artifact.DependencyResolutionRequiredException;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugins.annotations.LifecyclePhase;
import org.apache.maven.plugins.annotations.Mojo;
import org.apache.maven.plugins.annotations.Parameter;
import org.apache.maven.plugins.annotations.ResolutionScope;
import org.apache.maven.project.MavenProject;
import org.ukthreads.pico.translate.Build;
import org.ukthreads.pico.translate.Translator;
import org.ukthreads.pico.translate.analyse.Hot;

/**
 * Translates target/classes in place, against the project's dependencies. The project must
 * depend on pico-rt and pico-juc. Its own dependencies that block must be translated, too
 * (`pico translate`); otherwise their calls pin.
 */
@Mojo(name = "translate", defaultPhase = LifecyclePhase.PROCESS_CLASSES,
	requiresDependencyResolution = ResolutionScope.COMPILE, threadSafe = true)
public final class TranslateMojo extends AbstractMojo {
	@Parameter(defaultValue = "${project}", readonly = true)
	private MavenProject project;

	@Parameter(defaultValue = "${project.build.outputDirectory}")
	private File classes;

	/** Packages whose methods are all taken to suspend. */
	@Parameter
	private List<String> conservative;

	/** Files with additional replacement rules. */
	@Parameter
	private List<File> rules;

	/**
	 * direct, all, none, or a profile (`pico run --profile`) of the methods that suspend often.
	 */
	@Parameter(property = "pico.hot", defaultValue = "direct")
	private String hot;

	/**
	 * Whether to mark the methods that may suspend, so that other projects can be translated
	 * against this one.
	 */
	@Parameter(defaultValue = "true")
	private boolean library;

	@Override
	public void execute() throws MojoExecutionException {
		if (!classes.isDirectory())
			return;
		try {
			Translator.Options o = new Translator.Options();
			o.library = library;
			o.hot = Hot.of(hot);
			if (conservative != null)
				conservative.forEach(p -> o.conservative.add(p.replace('.', '/')));
			if (rules != null)
				for (File f : rules)
					o.rules.add(new String(Files.readAllBytes(f.toPath()), "UTF-8"));
			List<Path> path = new ArrayList<>();
			for (String p : project.getCompileClasspathElements())
				if (!new File(p).equals(classes))
					path.add(Paths.get(p));
			String lacks = Build.lacks(path);
			if (lacks.isEmpty())
				getLog().info(Build.inPlace(classes.toPath(), path, o).text(false));
			else
				getLog().warn("pico: " + project.getArtifactId() + " is " + lacks);
		} catch (IOException | DependencyResolutionRequiredException e) {
			throw new MojoExecutionException("pico: " + classes + ": " + e, e);
		}
	}
}
