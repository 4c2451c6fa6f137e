"""Models of scikit-learn, as its converter writes them, as ONNX Runtime: labels, scores, maps, transformed rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime
import pytest

import lamina

sklearn = pytest.importorskip("sklearn")
skl2onnx = pytest.importorskip("skl2onnx")
from sklearn import (  # noqa: E402
    calibration,
    cluster,
    cross_decomposition,
    datasets,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

CLASSIFIERS = {
    "logistic": linear_model.LogisticRegression(),
    "sgd": linear_model.SGDClassifier(loss="log_loss"),
    "ridge": linear_model.RidgeClassifier(),
    "perceptron": linear_model.Perceptron(),
    "tree": tree.DecisionTreeClassifier(max_depth=8),
    "forest": ensemble.RandomForestClassifier(30, random_state=0),
    "extra trees": ensemble.ExtraTreesClassifier(30, random_state=0),
    "boosted": ensemble.GradientBoostingClassifier(n_estimators=20),
    "adaboost": ensemble.AdaBoostClassifier(n_estimators=10),
    "bagging": ensemble.BaggingClassifier(n_estimators=5, random_state=0),
    "stacked": ensemble.StackingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4))]
    ),
    "svm": svm.SVC(probability=True),
    "polynomial svm": svm.SVC(kernel="poly"),
    "linear svm": svm.LinearSVC(),
    "neighbours": neighbors.KNeighborsClassifier(5),
    "gaussian bayes": naive_bayes.GaussianNB(),
    "bernoulli bayes": naive_bayes.BernoulliNB(),
    "perceptrons": neural_network.MLPClassifier((16, 8), max_iter=30),
    "discriminants": discriminant_analysis.LinearDiscriminantAnalysis(),
    "calibrated": calibration.CalibratedClassifierCV(linear_model.LogisticRegression()),
    "one against others": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "one against one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "a pipeline": pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(5), linear_model.LogisticRegression()
    ),
}
REGRESSORS = {
    "linear": linear_model.LinearRegression(),
    "lasso": linear_model.Lasso(0.001),
    "bayes": linear_model.BayesianRidge(),
    "huber": linear_model.HuberRegressor(),
    "forest": ensemble.RandomForestRegressor(20, random_state=0),
    "boosted": ensemble.GradientBoostingRegressor(n_estimators=20),
    "adaboost": ensemble.AdaBoostRegressor(n_estimators=10),
    "svm": svm.SVR(),
    "neighbours": neighbors.KNeighborsRegressor(),
    "least squares": cross_decomposition.PLSRegression(3),
}
TRANSFORMERS = {
    "standard": preprocessing.StandardScaler(),
    "extremes": preprocessing.MinMaxScaler(),
    "robust": preprocessing.RobustScaler(),
    "norms": preprocessing.Normalizer(),
    "powers": preprocessing.PowerTransformer(),
    "polynomials": preprocessing.PolynomialFeatures(2),
    "bins": preprocessing.KBinsDiscretizer(5, encode="ordinal"),
    "components": decomposition.PCA(5),
    "values": decomposition.TruncatedSVD(5),
    "means": cluster.KMeans(5, n_init=2),
    "imputed": impute.SimpleImputer(),
    "best": feature_selection.SelectKBest(k=5),
    "mixture": mixture.GaussianMixture(3, reg_covar=1e-2),
    "outliers": ensemble.IsolationForest(n_estimators=20, random_state=0),
    "one class": svm.OneClassSVM(),
    "signs": preprocessing.Binarizer(),
}
ROWS, FEATURES = 300, 12
OPSETS = {"": 18, "ai.onnx.ml": 3}
WORDLESS = {"one against one"}  # the converter writes a model that ONNX Runtime refuses


def data() -> tuple[np.ndarray, np.ndarray]:
    rows, classes = datasets.make_classification(ROWS, FEATURES, n_informative=8, n_classes=3, random_state=0)
    return rows.astype(np.float32), classes


def as_onnxruntime(estimator: Any, rows: np.ndarray, targets: np.ndarray) -> None:
    """For one row and for many, with the dimension of rows left open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = skl2onnx.to_onnx(estimator.fit(rows, targets), rows[:1], target_opset=OPSETS)
    compiled = lamina.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for count in (1, 50):
        expected: Any = session.run(None, {"X": rows[:count]})
        for found, right in zip(compiled(rows[:count]), expected, strict=True):
            if isinstance(right, list):  # of maps
                found, right = (np.array([list(row.values()) for row in side]) for side in (found, right))
            found, right = np.asarray(found), np.asarray(right)
            assert found.shape == right.shape
            if right.dtype.kind == "f":
                np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(right).max()))
            else:
                np.testing.assert_array_equal(found, right)


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str, words: bool) -> None:
    rows, classes = data()
    words = words and name not in WORDLESS
    as_onnxruntime(CLASSIFIERS[name], rows, np.array(["ash", "birch", "cedar"])[classes] if words else classes)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name: str) -> None:
    rows, targets = datasets.make_regression(ROWS, FEATURES, random_state=0)
    as_onnxruntime(REGRESSORS[name], rows.astype(np.float32), targets / np.abs(targets).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name: str) -> None:
    as_onnxruntime(TRANSFORMERS[name], *data())
