"""API routes for modules. Uploads and removals require an admin."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.modules.selectors import list_modules
from flowapp.modules.serializers import ModuleListSerializer, ModuleRequest, ModuleSerializer
from flowapp.modules.services import add_module, remove_module
from flowapp.modules.uploading import read_module

ADMIN_WRITES = (workspace_role(write="admin"),)


class Modules(APIView):
    permission_classes = ADMIN_WRITES
    parser_classes = (MultiPartParser,)

    @extend_schema(operation_id="modules_list", responses=ModuleListSerializer)
    def get(self, request: Request) -> Response:
        """List the modules of custom transforms, without their bytes."""
        return Response(ModuleListSerializer({"results": list_modules(request.workspace)}).data)

    @extend_schema(request={"multipart/form-data": ModuleRequest}, responses={201: ModuleSerializer})
    def post(self, request: Request) -> Response:
        """Store a module after checking it. The same bytes again only replace what is granted."""
        given = ModuleRequest(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        grants = [kind.strip() for kind in values["grant"].split(",") if kind.strip()]
        content = read_module(values["file"])
        stored = add_module(request.workspace, values["name"], content, grants, str(request.user))
        return Response(ModuleSerializer(stored).data, status.HTTP_201_CREATED)


class OneModule(APIView):
    permission_classes = ADMIN_WRITES

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str, sha256: str) -> Response:
        """Remove a build. It is refused while the newest version of a pipeline names it."""
        remove_module(request.workspace, name, sha256)
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("modules/", Modules.as_view(), name="modules"),
    path("modules/<slug:name>/<slug:sha256>/", OneModule.as_view(), name="module"),
]
