#!/usr/bin/env python3
"""render.py [FOLDER]: renders the recipe for every variant, as rattler-build would, and prints what each needs.  Needs py-rattler-build."""
import os
import sys

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
recipe = Stage0Recipe.from_file(os.path.join(folder, "recipe.yaml"))
variants = VariantConfig.from_file(os.path.join(folder, "variants.yaml"))
for rendered in recipe.render(variants, RenderConfig(platform=PlatformConfig(target_platform="linux-64"))):
    package = rendered.recipe.to_dict() if not callable(rendered.recipe) else rendered.recipe().to_dict()
    print(package["package"]["name"], package["package"]["version"], package["build"]["string"])
    for part, names in sorted(package["requirements"].items()):
        print("    %s: %s" % (part, names))
