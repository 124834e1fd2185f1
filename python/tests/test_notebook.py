"""The notebook of the examples: its form, and what its cells show."""

import ast
import json
import os
import unittest

import nucleon

from digits import ROOT

NOTEBOOK = ROOT / "python" / "examples" / "report.ipynb"


class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.content = json.loads(NOTEBOOK.read_text())

    def test_form(self):
        self.assertEqual((self.content["nbformat"], self.content["nbformat_minor"]), (4, 5))
        ids = [cell["id"] for cell in self.content["cells"]]
        self.assertEqual(len(ids), len(set(ids)))
        for cell in self.content["cells"]:
            self.assertTrue(all(line.endswith("\n") for line in cell["source"][:-1]))
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    def test_cells(self):
        """As Jupyter runs them: in the notebook's folder, the value of the last expression is shown."""
        names, shown = {}, []
        before = os.getcwd()
        os.chdir(NOTEBOOK.parent)
        try:
            for cell in self.content["cells"]:
                if cell["cell_type"] == "code":
                    shown.append(self.run_cell("".join(cell["source"]), names))
        finally:
            os.chdir(before)
        self.assertIsInstance(shown[1], nucleon.Program)
        self.assertGreater(shown[2], 0.95)
        page = shown[-1]._repr_html_()
        self.assertTrue(page.startswith('<iframe srcdoc="&lt;!DOCTYPE html'), page[:60])
        self.assertNotIn('"', page.split('"')[1])

    @staticmethod
    def run_cell(source, names):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(NOTEBOOK), "exec"), names)
        return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names) if last is not None else None


if __name__ == "__main__":
    unittest.main()
