"""Models: geometry as data, one formula per kind of layer, cost and bytes as exact integers.

``layers recurrent geometry``
    the formulas;
``fields plain latent hybrid config precision``
    from a ``config.json`` to a geometry and the precision of its weights;
``model memory``
    what the rest of the project asks of a model;
``catalogue shipped.json loading``
    the shipped models, and the one way to a model by name or file.
"""
