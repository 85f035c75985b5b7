"""The pages of rejected rows, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.quarantine import views, workbench

app_name = "quarantine"

urlpatterns = [
    path("", views.home, name="home"),
    path("rows/", views.rows, name="rows"),
    path("rows/select/", workbench.select, name="select"),
    path("rows/<uuid:run>/<path:row_id>/work/", workbench.work_on, name="work_on"),
    path("rows/<uuid:run>/<path:row_id>/", views.row, name="row"),
    path("selection/<uuid:selection>/", workbench.selection, name="selection"),
    path("selection/<uuid:selection>/as-they-are/", workbench.as_they_are, name="as_they_are"),
    path("selection/<uuid:selection>/fix/", workbench.fix, name="fix"),
    path("selection/<uuid:selection>/compute/", workbench.compute, name="compute"),
    path("selection/<uuid:selection>/recheck/", workbench.recheck, name="recheck"),
    path("selection/<uuid:selection>/replay/", workbench.replay, name="replay"),
    path("selection/<uuid:selection>/change/", workbench.change, name="change"),
    path("export/", workbench.export, name="export"),
    path("purge/", workbench.purging, name="purge"),
]
